#include "loaders/onnx/ops/tables.h"

#include <unordered_map>

namespace plica::onnx {
namespace {

using RowsByType = std::unordered_map<std::string_view, std::vector<const OpRow*>>;

RowsByType all_rows() {
  RowsByType rows;
  for (const std::span<const OpRow> topic :
       {activation_rows(), attention_rows(),     constant_rows(),  control_rows(), conv_rows(),     einsum_rows(),
        gather_rows(),     grid_sample_rows(),   image_rows(),     layout_rows(),  loss_rows(),     mat_mul_rows(),
        norm_rows(),       normalization_rows(), pointwise_rows(), pool_rows(),    quantize_rows(), random_rows(),
        recurrent_rows(),  reduce_rows(),        resize_rows(),    scatter_rows(), select_rows(),   sequence_rows(),
        signal_rows(),     slice_rows(),         softmax_rows()})
    for (const OpRow& row : topic) rows[row.type].push_back(&row);
  return rows;
}

}  // namespace

const OpRow* find_row(std::string_view domain, std::string_view type, int64_t version) {
  static const RowsByType rows = all_rows();
  const auto found = rows.find(type);
  if (found == rows.end()) return nullptr;
  const OpRow* best = nullptr;
  for (const OpRow* row : found->second)
    if (row->domain == domain && row->since <= version && (best == nullptr || row->since > best->since)) best = row;
  return best;
}

}  // namespace plica::onnx
