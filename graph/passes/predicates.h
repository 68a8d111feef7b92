#pragma once

#include "graph/pattern.h"
#include "ops/slice.h"

namespace plica {

// What several rules ask of their matches. Names are those of the match.

// Whether `vector` has one axis, as long as the last of `x`, and x's dtype.
bool is_vector_of_last_axis(const Match& m, std::string_view vector, std::string_view x);

bool is_float_value(const Match& m, std::string_view x);

// Whether two values have equal shapes.
bool are_alike(const Match& m, std::string_view a, std::string_view b);

std::vector<int64_t> inverse_perm(const std::vector<int64_t>& perm);

// Sets $r to what transposing by $p and then by $q does at once; true.
bool compose_perms(Match& m);

// Whether `slice` of a tensor of `shape` takes neighbouring elements of the last axis and all of the others.
bool cuts_last_axis(const ops::Slice& slice, const Shape& shape);

}  // namespace plica
