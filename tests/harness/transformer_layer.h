#pragma once

#include "tests/harness/text_source.h"

namespace plica {

// A layer of a transformer with every kind of step: gather, norms, products, attention, element-wise chains, copies.
inline constexpr const char* kTransformerLayer = R"(
    input ids: i64 {B}x{L}
    input mask: bool {B}x1x1x{L}
    constant table: f32 32x64
    constant w: f32 64x192
    constant bias: f32 192
    constant out: f32 64x64
    constant up: f32 64x256
    constant down: f32 256x64
    constant gamma: f32 64
    constant beta: f32 64
    constant positions: f32 {L}x1
    constant frequencies: f32 64
    x = Add(Gather(table, ids), Cos(Mul(positions, frequencies)))
    n = LayerNorm(x, gamma, beta)
    qkv = Add(MatMul(n, w, _, _, _), bias)
    split = Reshape(qkv) {shape=[{B},{L},3,4,16]}
    heads = Transpose(split) {perm=[2,0,3,1,4]}
    q0 = Slice(heads) {starts=[0,0,0,0,0], sizes=[1,{B},4,{L},16], steps=[1,1,1,1,1]}
    k0 = Slice(heads) {starts=[1,0,0,0,0], sizes=[1,{B},4,{L},16], steps=[1,1,1,1,1]}
    v0 = Slice(heads) {starts=[2,0,0,0,0], sizes=[1,{B},4,{L},16], steps=[1,1,1,1,1]}
    q = Reshape(q0) {shape=[{B},4,{L},16]}
    k = Reshape(k0) {shape=[{B},4,{L},16]}
    v = Reshape(v0) {shape=[{B},4,{L},16]}
    a = Attention(q, k, v, _, mask, _, _) {scale=0.25, fill=-10000.0}
    merged = Reshape(Transpose(a) {perm=[0,2,1,3]}) {shape=[{B},{L},64]}
    r = Add(MatMul(merged, out, _, _, _), x)
    h = MatMul(Gelu(MatMul(RmsNorm(r, gamma), up, _, _, _)), down, _, _, _)
    y = Add(h, r)
    p = Softmax(y)
    m = Reduce(y) {kind="mean", axes=[1], keepdims=false}
    c = Concat(p, y) {axis=2}
    output y
    output m
    output c
    t = Transpose(y) {perm=[0,2,1]}
    output t
)";

}  // namespace plica
