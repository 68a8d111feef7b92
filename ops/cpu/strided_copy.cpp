#include "ops/cpu/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ops/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/strided_copy.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/cpu/transpose_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {

// to (cols, rows) = from (rows, cols) transposed, both with adjacent elements in their rows.
void transpose_f32(const float* from, int64_t from_stride, int64_t rows, int64_t cols, float* to, int64_t to_stride) {
  transpose_tile(from, from_stride, rows, cols, to, to_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {
namespace {

HWY_EXPORT(transpose_f32);

constexpr int64_t kTransposeBlock = 32;

// One plane: axes `rows` and `cols` of the copy, the last of them adjacent in `to`.
struct Plane {
  int64_t rows, cols;
  int64_t from_row, from_col, to_row;
};

template <class T>
void copy_plane(const Plane& p, const T* from, T* to) {
  if (p.from_col == 1) {
    for (int64_t i = 0; i < p.rows; ++i) std::memcpy(to + i * p.to_row, from + i * p.from_row, sizeof(T) * p.cols);
    return;
  }
  if (p.from_row == 1) {
    for (int64_t j = 0; j < p.cols; j += kTransposeBlock)
      for (int64_t i = 0; i < p.rows; i += kTransposeBlock) {
        const int64_t cols = std::min(kTransposeBlock, p.cols - j), rows = std::min(kTransposeBlock, p.rows - i);
        const T* block = from + i + j * p.from_col;
        T* out = to + i * p.to_row + j;
        if constexpr (sizeof(T) == 4) {
          HWY_DYNAMIC_DISPATCH(transpose_f32)
          (reinterpret_cast<const float*>(block), p.from_col, cols, rows, reinterpret_cast<float*>(out), p.to_row);
        } else {
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < cols; ++c) out[r * p.to_row + c] = block[r + c * p.from_col];
        }
      }
    return;
  }
  for (int64_t i = 0; i < p.rows; ++i)
    for (int64_t j = 0; j < p.cols; ++j) to[i * p.to_row + j] = from[i * p.from_row + j * p.from_col];
}

// The axis that is transposed with the last one: adjacent in `from`, otherwise the one before the last.
int row_axis(const StridedCopy& c) {
  for (int k = 0; k + 1 < c.rank; ++k)
    if (c.from[k] == 1 && c.from[c.rank - 1] != 1) return k;
  return c.rank - 2;
}

template <class T>
void copy_as(const StridedCopy& c, const T* from, T* to, int num_threads) {
  const int last = c.rank - 1, rows = row_axis(c);
  constexpr int64_t kRowsOfPiece = 64;  // planes are cut, so that few large ones keep a team busy
  const int64_t num_rows = c.sizes[rows], pieces = (num_rows + kRowsOfPiece - 1) / kRowsOfPiece;
  int64_t planes = 1;
  for (int k = 0; k < last; ++k)
    if (k != rows) planes *= c.sizes[k];
  const int64_t piece_elements = std::min(num_rows, kRowsOfPiece) * c.sizes[last];
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / std::max<int64_t>(piece_elements, 1));
  parallel_for(planes * pieces, grain, num_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % pieces * kRowsOfPiece;
      int64_t from_at = row * c.from[rows], to_at = row * c.to[rows], plane = i / pieces;
      for (int k = last - 1; k >= 0; --k) {
        if (k == rows) continue;
        from_at += plane % c.sizes[k] * c.from[k], to_at += plane % c.sizes[k] * c.to[k];
        plane /= c.sizes[k];
      }
      const Plane p{std::min(kRowsOfPiece, num_rows - row), c.sizes[last], c.from[rows], c.from[last], c.to[rows]};
      if (c.to[last] == 1) {
        copy_plane(p, from + from_at, to + to_at);
      } else {
        for (int64_t a = 0; a < p.rows; ++a)
          for (int64_t b = 0; b < p.cols; ++b)
            to[to_at + a * p.to_row + b * c.to[last]] = from[from_at + a * p.from_row + b * p.from_col];
      }
    }
  });
}

}  // namespace

StridedCopy simplify(const StridedCopy& copy) {
  StridedCopy sorted;
  for (int k = 0; k < copy.rank; ++k) {
    if (copy.sizes[k] == 1) continue;
    int at = sorted.rank++;
    for (; at > 0 && std::abs(sorted.to[at - 1]) < std::abs(copy.to[k]); --at)
      sorted.sizes[at] = sorted.sizes[at - 1], sorted.from[at] = sorted.from[at - 1], sorted.to[at] = sorted.to[at - 1];
    sorted.sizes[at] = copy.sizes[k], sorted.from[at] = copy.from[k], sorted.to[at] = copy.to[k];
  }
  StridedCopy joined;
  for (int k = 0; k < sorted.rank; ++k) {
    const int before = joined.rank - 1;
    if (before >= 0 && joined.from[before] == sorted.from[k] * sorted.sizes[k] &&
        joined.to[before] == sorted.to[k] * sorted.sizes[k]) {
      joined.sizes[before] *= sorted.sizes[k], joined.from[before] = sorted.from[k], joined.to[before] = sorted.to[k];
    } else {
      const int at = joined.rank++;
      joined.sizes[at] = sorted.sizes[k], joined.from[at] = sorted.from[k], joined.to[at] = sorted.to[k];
    }
  }
  return joined;
}

void copy_strided(const StridedCopy& copy, size_t element_bytes, const void* from, void* to, int num_threads) {
  StridedCopy c;  // at least two axes
  c.rank = std::max(copy.rank, 2);
  for (int k = 0; k < c.rank; ++k) {
    const int of = k - (c.rank - copy.rank);
    c.sizes[k] = of < 0 ? 1 : copy.sizes[of];
    c.from[k] = of < 0 ? 0 : copy.from[of];
    c.to[k] = of < 0 ? (copy.rank == 0 ? 1 : 0) : copy.to[of];
    if (c.sizes[k] == 0) return;
  }
  switch (element_bytes) {
    case 1: return copy_as(c, static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), num_threads);
    case 2: return copy_as(c, static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to), num_threads);
    case 4: return copy_as(c, static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), num_threads);
    default: return copy_as(c, static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to), num_threads);
  }
}

}  // namespace plica::cpu
#endif  // HWY_ONCE
