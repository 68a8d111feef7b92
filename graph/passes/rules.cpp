#include "graph/passes/rules.h"

#include <array>

namespace plica {

std::span<const RuleTable> rule_tables() {
  static const std::array kTables = {
      RuleTable{"canonicalise", canonicalise_rules},
      RuleTable{"expand_scores", expand_scores_rules},
      RuleTable{"expand_scores", expand_scores_weights_rules},
      RuleTable{"fuse_activation", fuse_activation_rules},
      RuleTable{"fuse_attention", fuse_attention_begin_rules},
      RuleTable{"fuse_attention", fuse_attention_rules},
      RuleTable{"fuse_linear", fuse_linear_rules},
      RuleTable{"fuse_norm", fuse_norm_rules},
      RuleTable{"fuse_outer_product_mean", fuse_outer_product_mean_rules},
      RuleTable{"fuse_rotary", fuse_rotary_rules},
  };
  return kTables;
}

}  // namespace plica
