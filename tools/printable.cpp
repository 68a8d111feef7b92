#include "tools/printable.h"

namespace plica {
namespace {

// U+0080 to U+009F, control characters too, are 0xc2 and a byte from 0x80 to 0x9f.
bool is_second_of_control(std::string_view text, size_t i) {
  const auto byte = static_cast<unsigned char>(text[i]);
  return i > 0 && text[i - 1] == '\xc2' && byte >= 0x80 && byte < 0xa0;
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool keeps = lines == Lines::kKeep && (byte == '\n' || byte == '\t');
    const bool is_control = byte < ' ' || byte == 0x7f || is_second_of_control(text, i);
    if (keeps || !is_control)
      out += text[i];
    else
      out.append("\\x") += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

}  // namespace plica
