#pragma once

#include "ops/cuda/launch.cuh"
#include "ops/cuda/matrix_fragments.cuh"

namespace plica::cuda {

// Columns of a product that a rotary embedding turns, whole heads of them: instead of the product's result they are written where the
// embedding's lies. Row r of the product is row r % rows of batch r / rows. Steps are in elements.
struct TurnedColumns {
  int begin = 0, end = 0;  // in the product; 0, 0: none
  int width = 0;           // of a head: 16, 32, 64 or 128
  bool interleaved = false;
  int rows = 0;
  const void *cosine = nullptr, *sine = nullptr;
  void* to = nullptr;
  int64_t cosine_batch = 0, cosine_row = 0, sine_batch = 0, sine_row = 0, batch = 0, head = 0, row = 0;

  __device__ bool holds(int column) const { return column >= begin && column < end; }
};

// A row of the product as one of a batch.
struct BatchRow {
  int batch, at;
  __device__ BatchRow(int row, int rows) : batch(row / rows), at(row - batch * rows) {}
  __device__ void advance(int by, int rows) {
    at += by;
    while (at >= rows) at -= rows, ++batch;
  }
};

// Cosines and sines of the columns and rows of a head that a thread has in fragments of a product.
struct AngleWords {
  uint32_t cosine[2][8], sine[2][8];
};

// Of up to 64 columns from `first` of the head on, and of rows `row` + lane / 4 and 8 further.
template <class T>
__device__ inline void load_angles(const TurnedColumns& p, int row, int num_rows, AngleWords& to, int first = 0) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  BatchRow of(row + lane / 4, p.rows);
#pragma unroll
  for (int i = 0; i < 2; ++i, of.advance(8, p.rows)) {
    const int r = row + lane / 4 + 8 * i;
    const T* cosine =
        static_cast<const T*>(p.cosine) + of.batch * p.cosine_batch + of.at * p.cosine_row + first + lane % 4 * 2;
    const T* sine = static_cast<const T*>(p.sine) + of.batch * p.sine_batch + of.at * p.sine_row + first + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const bool valid = r < num_rows && first + j * 8 < p.width;
      to.cosine[i][j] = valid ? *reinterpret_cast<const uint32_t*>(cosine + j * 8) : 0;
      to.sine[i][j] = valid ? *reinterpret_cast<const uint32_t*>(sine + j * 8) : 0;
    }
  }
}

// Heads of kWidth columns, whose halves are pairs.
template <class T, int kWidth>
__device__ inline void turn_halves(const AngleWords& angles, float (&sums)[64]) {
  constexpr int kHalf = kWidth / 16;
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    if (j % (2 * kHalf) >= kHalf) continue;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int at = j % (2 * kHalf);
      const float2 c0 = widen_pair<T>(angles.cosine[i][at]), c1 = widen_pair<T>(angles.cosine[i][at + kHalf]),
                   s0 = widen_pair<T>(angles.sine[i][at]), s1 = widen_pair<T>(angles.sine[i][at + kHalf]);
      float &a = sums[4 * j + 2 * i], &b = sums[4 * (j + kHalf) + 2 * i];
      float &c = sums[4 * j + 2 * i + 1], &d = sums[4 * (j + kHalf) + 2 * i + 1];
      const float first = a, second = c;
      a = a * c0.x - b * s0.x;
      b = b * c1.x + first * s1.x;
      c = c * c0.y - d * s0.y;
      d = d * c1.y + second * s1.y;
    }
  }
}

// Columns 2 i and 2 i + 1 are pairs.
template <class T, int kWidth>
__device__ inline void turn_neighbours(const AngleWords& angles, float (&sums)[64]) {
#pragma unroll
  for (int j = 0; j < 16; ++j)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float2 c = widen_pair<T>(angles.cosine[i][j % (kWidth / 8)]),
                   s = widen_pair<T>(angles.sine[i][j % (kWidth / 8)]);
      float &a = sums[4 * j + 2 * i], &b = sums[4 * j + 2 * i + 1];
      const float first = a;
      a = a * c.x - b * s.x;
      b = b * c.y + first * s.y;
    }
}

template <class T, int kWidth>
__device__ inline void turn_heads(const TurnedColumns& p, const AngleWords& angles, float (&sums)[64]) {
  p.interleaved ? turn_neighbours<T, kWidth>(angles, sums) : turn_halves<T, kWidth>(angles, sums);
}

template <class T>
__device__ inline void turn_columns(const TurnedColumns& p, const AngleWords& angles, float (&sums)[64]) {
  switch (p.width) {
    case 16: return turn_heads<T, 16>(p, angles, sums);
    case 32: return turn_heads<T, 32>(p, angles, sums);
    default: return turn_heads<T, 64>(p, angles, sums);
  }
}

// A box of 16 rows and 64 columns of 16 bits, its rows of 128 bytes swizzled, from shared memory to where the embedding's result lies.
__device__ inline void store_turned(const TurnedColumns& p, uint32_t box, int row, int num_rows, int column) {
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x) % kWarp, unit = lane % 8;
  const int at = column - p.begin + unit * 8, head = at >> (31 - __clz(p.width));
  uint16_t* to = static_cast<uint16_t*>(p.to) + head * p.head + (at - head * p.width);
  BatchRow of(row + lane / 8, p.rows);
#pragma unroll
  for (int i = 0; i < 4; ++i, of.advance(4, p.rows)) {
    const int line = lane / 8 + 4 * i;
    if (row + line >= num_rows) continue;
    *reinterpret_cast<uint4*>(to + of.batch * p.batch + of.at * p.row) =
        shared_at<uint4>(box + line * 128 + (unit ^ line % 8) * 16);
  }
}

}  // namespace plica::cuda
