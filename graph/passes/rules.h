#pragma once

#include <span>

#include "graph/pattern.h"

namespace plica {

// The rules of a pass, for tests and for whoever wants to list them.
struct RuleTable {
  std::string_view pass;
  std::span<const Rule> rules;
};

extern const std::span<const Rule> canonicalise_rules, expand_scores_rules, expand_scores_weights_rules,
    fuse_activation_rules, fuse_attention_rules, fuse_attention_begin_rules, fuse_linear_rules, fuse_norm_rules,
    fuse_outer_product_mean_rules, fuse_rotary_rules;

std::span<const RuleTable> rule_tables();

}  // namespace plica
