#include "graph/passes/predicates.h"

#include "runtime/core/dtype.h"

namespace plica {

bool is_vector_of_last_axis(const Match& m, std::string_view vector, std::string_view x) {
  const TensorType &v = m.type(vector), &of = m.type(x);
  return v.dtype == of.dtype && v.shape.size() == 1 && !of.shape.empty() && v.shape[0] == of.shape.back();
}

bool is_float_value(const Match& m, std::string_view x) { return is_float(m.type(x).dtype); }

bool are_alike(const Match& m, std::string_view a, std::string_view b) { return m.shape(a) == m.shape(b); }

std::vector<int64_t> inverse_perm(const std::vector<int64_t>& perm) {
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return inverse;
}

bool compose_perms(Match& m) {
  const std::vector<int64_t>&inner = m.list("$p"), &outer = m.list("$q");
  std::vector<int64_t> perm(inner.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = inner[static_cast<size_t>(outer[i])];
  m.set("$r", std::move(perm));
  return true;
}

bool cuts_last_axis(const ops::Slice& slice, const Shape& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (slice.steps[i] != 1) return false;
    if (i + 1 < shape.size() && slice.sizes[i] != shape[i]) return false;
  }
  return !shape.empty();
}

}  // namespace plica
