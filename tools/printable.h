#pragma once

#include <string>
#include <string_view>

namespace plica {

enum class Lines { kKeep, kEscape };

// Text of files (names of nodes and records) as a terminal may be given it: control characters, which could move its cursor or change
// its title, become \x1b and the like, ends of lines and tabs only with kEscape.
std::string printable(std::string_view text, Lines lines = Lines::kEscape);

}  // namespace plica
