#include <algorithm>
#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "ops/pad.h"
#include "ops/scatter_elements.h"
#include "ops/slice.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

Result<int64_t> block_of(Lowering& n) {
  PLICA_TRY(const int64_t block, n.attr("blocksize", 0));
  if (block < 1 || block > (1 << 16) || n.rank(n.in(0)) != 4)
    return invalid_model("blocks of " + std::to_string(block) + " on " + to_string(n.shape(n.in(0))) +
                         ", wanted four axes");
  return block;
}

Status depth_to_space(Lowering& n) {
  PLICA_TRY(const int64_t b, block_of(n));
  PLICA_TRY(const std::string mode, string_attribute(n.node(), "mode", "DCR"));
  const Shape x = n.shape(n.in(0));
  if (x[1] % (b * b) != 0)
    return invalid_model("the input is " + to_string(x) + ", its channels are no multiple of " + std::to_string(b * b));
  const int64_t depth = x[1] / (b * b);
  const bool blocks_first = mode == "DCR";
  const Result<Id> split =
      n.reshape(n.in(0), blocks_first ? Shape{x[0], b, b, depth, x[2], x[3]} : Shape{x[0], depth, b, b, x[2], x[3]});
  const Result<Id> moved = n.transpose(
      split, blocks_first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3});
  return n.give(n.reshape(moved, {x[0], depth, x[2] * b, x[3] * b}));
}

Status space_to_depth(Lowering& n) {
  PLICA_TRY(const int64_t b, block_of(n));
  const Shape x = n.shape(n.in(0));
  if (x[2] % b != 0 || x[3] % b != 0)
    return invalid_model("the input is " + to_string(x) + ", no multiple of blocks of " + std::to_string(b));
  const Result<Id> split = n.reshape(n.in(0), {x[0], x[1], x[2] / b, b, x[3] / b, b});
  return n.give(n.reshape(n.transpose(split, {0, 3, 5, 1, 2, 4}), {x[0], x[1] * b * b, x[2] / b, x[3] / b}));
}

// The middle of x, cut or surrounded by zeros to the wanted sizes.
Status center_crop_pad(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const auto wanted, n.known_ints(1));
  std::vector<int64_t> all(n.shape(x).size());
  std::iota(all.begin(), all.end(), 0);
  PLICA_TRY(const auto axes, ints_attribute(n.node(), "axes", all));
  if (axes.size() != wanted.size())
    return invalid_model("the shape has " + std::to_string(wanted.size()) + " entries, wanted " +
                         std::to_string(axes.size()));
  Result<Id> y = x;
  ops::Pad pad{std::vector<int64_t>(all.size(), 0), std::vector<int64_t>(all.size(), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    PLICA_TRY(const int64_t axis, normalise_axis(axes[i], n.rank(x)));
    if (wanted[i] < 0) return invalid_model("a size of " + std::to_string(wanted[i]) + " is wanted");
    const int64_t size = n.size(x, axis), missing = wanted[i] - size;
    if (missing < 0) y = n.slice(y, axis, -missing / 2, wanted[i]);
    pad.before[static_cast<size_t>(axis)] = std::max<int64_t>(0, missing / 2);
    pad.after[static_cast<size_t>(axis)] = std::max<int64_t>(0, missing - missing / 2);
  }
  const auto is_zero = [](int64_t size) { return size == 0; };
  if (std::all_of(pad.after.begin(), pad.after.end(), is_zero)) return n.give(y);
  PLICA_TRY(const Id cropped, y);
  return n.give(n.emit_one(pad_op, std::move(pad), Ids{cropped, kNone}));
}

// The corners or middles of `size` cells that fill [-1, 1].
std::vector<double> cells(int64_t size, bool align_corners) {
  std::vector<double> found;
  const auto count = static_cast<double>(size);
  for (int64_t i = 0; i < size; ++i) {
    const auto x = static_cast<double>(i);
    found.push_back(align_corners ? 2 * x / (count - 1) - 1 : (2 * x + 1) / count - 1);
  }
  return found;
}

// theta (N, d, d + 1) applied to the points of a grid of the wanted size: (N, size..., d).
Status affine_grid(Lowering& n) {
  const Id theta = n.in(0);
  PLICA_TRY(const auto size, n.known_ints(1));
  PLICA_TRY(const bool align_corners, n.flag("align_corners", false));
  if (size.size() < 3 || n.rank(theta) != 3 || n.size(theta, 2) != static_cast<int64_t>(size.size()) - 1)
    return invalid_model("theta is " + to_string(n.shape(theta)) + ", the size " + to_string(size));
  const Shape spatial(size.begin() + 2, size.end());
  for (const int64_t extent : spatial)
    if (extent < 1 || extent > (1 << 13)) return unsupported("a grid of " + to_string(spatial) + " points");
  const int64_t d = static_cast<int64_t>(spatial.size()), count = num_elements(spatial);
  PLICA_TRY(Tensor points, Tensor::zeros(DType::kF64, {d + 1, count}));
  std::fill_n(points.as<double>() + d * count, count, 1.0);
  const Strides steps = dense_strides(spatial);
  for (int64_t axis = 0; axis < d; ++axis) {
    const auto along = cells(spatial[static_cast<size_t>(axis)], align_corners);
    double* row = points.as<double>() + (d - 1 - axis) * count;  // x, the last axis, stands first
    for (int64_t i = 0; i < count; ++i)
      row[i] = along[static_cast<size_t>(i / steps[static_cast<size_t>(axis)] % spatial[static_cast<size_t>(axis)])];
  }
  Shape out{n.size(theta, 0)};
  out.insert(out.end(), spatial.begin(), spatial.end());
  out.push_back(d);
  const Result<Id> grid = n.mat_mul(theta, n.cast(n.constant(std::move(points)), n.dtype(theta)));
  return n.give(n.reshape(n.transpose(grid, {0, 2, 1}), std::move(out)));
}

struct Blocks {
  Shape image, kernel;
  std::vector<int64_t> strides, dilations, pads;
  Shape counts;  // of blocks along each axis
};

Result<Blocks> blocks_of(Lowering& n) {
  Blocks blocks;
  PLICA_TRY(blocks.image, n.known_ints(1));
  PLICA_TRY(blocks.kernel, n.known_ints(2));
  const size_t d = blocks.image.size();
  PLICA_TRY(blocks.strides, ints_attribute(n.node(), "strides", std::vector<int64_t>(d, 1)));
  PLICA_TRY(blocks.dilations, ints_attribute(n.node(), "dilations", std::vector<int64_t>(d, 1)));
  PLICA_TRY(blocks.pads, ints_attribute(n.node(), "pads", std::vector<int64_t>(2 * d, 0)));
  if (blocks.kernel.size() != d || blocks.strides.size() != d || blocks.dilations.size() != d ||
      blocks.pads.size() != 2 * d)
    return invalid_model("image, block, strides, dilations and pads are of different ranks");
  for (size_t i = 0; i < d; ++i) {
    for (const int64_t size : {blocks.image[i], blocks.kernel[i], blocks.dilations[i]})
      if (size < 1 || size > (1 << 20)) return invalid_model("image, block and dilations hold " + std::to_string(size));
    const int64_t room =
        blocks.image[i] + blocks.pads[i] + blocks.pads[i + d] - blocks.dilations[i] * (blocks.kernel[i] - 1) - 1;
    if (blocks.strides[i] < 1 || blocks.kernel[i] < 1 || room < 0)
      return invalid_model("a block does not fit the image");
    blocks.counts.push_back(room / blocks.strides[i] + 1);
  }
  return blocks;
}

// The image's element for each (place of the kernel, block); one behind the last for what lies in the padding.
std::vector<int64_t> targets(const Blocks& blocks) {
  const int64_t num_places = num_elements(blocks.kernel), num_blocks = num_elements(blocks.counts);
  const Strides place_steps = dense_strides(blocks.kernel), block_steps = dense_strides(blocks.counts),
                steps = dense_strides(blocks.image);
  std::vector<int64_t> found;
  for (int64_t place = 0; place < num_places; ++place)
    for (int64_t block = 0; block < num_blocks; ++block) {
      int64_t target = 0;
      bool inside = true;
      for (size_t i = 0; i < blocks.image.size(); ++i) {
        const int64_t at = block / block_steps[i] % blocks.counts[i] * blocks.strides[i] - blocks.pads[i] +
                           place / place_steps[i] % blocks.kernel[i] * blocks.dilations[i];
        inside = inside && at >= 0 && at < blocks.image[i];
        target += at * steps[i];
      }
      found.push_back(inside ? target : num_elements(blocks.image));
    }
  return found;
}

// Sums the columns x (N, C * places, blocks) back into images (N, C, image...).
Status col2im(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const Blocks blocks, blocks_of(n));
  const int64_t places = num_elements(blocks.kernel), columns = num_elements(blocks.counts),
                pixels = num_elements(blocks.image);
  if (n.rank(x) != 3 || n.size(x, 1) % places != 0 || n.size(x, 2) != columns)
    return invalid_model("the input is " + to_string(n.shape(x)) + ", wanted " + std::to_string(columns) +
                         " blocks of " + std::to_string(places));
  const int64_t channels = n.size(x, 1) / places;
  const Shape flat{n.size(x, 0), channels, places * columns};
  const Result<Id> indices = n.expand(n.reshape(n.int64s(targets(blocks)), {1, 1, places * columns}), flat);
  const Result<Id> zeros = n.full(0, n.dtype(x), {flat[0], channels, pixels + 1});
  const Result<Id> sums = n.emit_one(scatter_elements_op, ops::ScatterElements{2, ops::ScatterReduction::kAdd},
                                     {zeros, indices, n.reshape(x, flat)});
  Shape out{flat[0], channels};
  out.insert(out.end(), blocks.image.begin(), blocks.image.end());
  return n.give(n.reshape(n.slice(sums, 2, 0, pixels), std::move(out)));
}

constexpr OpRow kRows[] = {
    {"AffineGrid", 20, 2, affine_grid},     {"CenterCropPad", 18, 2, center_crop_pad}, {"Col2Im", 18, 3, col2im},
    {"DepthToSpace", 1, 1, depth_to_space}, {"SpaceToDepth", 1, 1, space_to_depth},
};

}  // namespace

std::span<const OpRow> image_rows() { return kRows; }

}  // namespace plica::onnx
