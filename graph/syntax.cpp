#include "graph/syntax.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "runtime/core/dtype.h"

namespace plica {
namespace {

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '%' || c == '$';
}

bool is_integer_text(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void Cursor::skip_blanks() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || (text_[at_] == '\n' && depth_ > 0)) {
      ++at_;
    } else {
      return;
    }
  }
}

bool Cursor::at_end() {
  for (skip_blanks(); at_ < text_.size() && text_[at_] == '\n'; skip_blanks()) ++at_;
  return at_ == text_.size();
}

bool Cursor::at_line_end() const { return at_ == text_.size() || text_[at_] == '\n'; }

char Cursor::peek() {
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Cursor::take(char c) {
  if (peek() != c) return false;
  ++at_;
  if (c == '(' || c == '{' || c == '[') ++depth_;
  if (c == ')' || c == '}' || c == ']') --depth_;
  return true;
}

std::string Cursor::take_word() {
  skip_blanks();
  const size_t start = at_;
  const bool number = at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 ||
                                             text_[at_] == '-' || text_[at_] == '.');
  if (number && text_[at_] == '-') ++at_;
  while (at_ < text_.size()) {
    const bool exponent_sign =
        number && at_ > start && text_[at_ - 1] == 'e' && (text_[at_] == '-' || text_[at_] == '+');
    if (!is_word_char(text_[at_]) && !exponent_sign) break;
    ++at_;
  }
  return std::string(text_.substr(start, at_ - start));
}

bool Cursor::next_is(std::string_view keyword) {
  const size_t at = at_;
  const bool is = take_word() == keyword && at_ < text_.size() && text_[at_] == ' ';
  at_ = at;
  return is;
}

Error Cursor::error(std::string_view wanted) {
  const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n') + 1;
  const std::string_view rest = text_.substr(at_, text_.find('\n', at_) - at_).substr(0, 30);
  std::string found = rest.empty() ? "the end of the line" : "'" + std::string(rest) + "'";
  return Error(Code::kInvalidModel,
               "line " + std::to_string(line) + ": found " + found + ", wanted " + std::string(wanted));
}

Result<Expression> Cursor::factor() {
  Expression result;
  if (take('(')) {
    PLICA_TRY(result, expression());
    if (!take(')')) return error("')'");
    return result;
  }
  std::string word = take_word();
  if (word.empty()) return error("a name, a number or an operator");
  if (auto number = parse_number(word)) {
    result.kind = Expression::Kind::kNumber;
    result.number = *number;
  } else if (word == "_") {
    result.kind = Expression::Kind::kAbsent;
  } else if (word[0] == '$') {
    result.kind = Expression::Kind::kCapture;
  } else if (peek() == '(') {
    return call(std::move(word));
  } else {
    result.optional = take('?');
  }
  result.text = std::move(word);
  return result;
}

Result<Expression> Cursor::term() {
  PLICA_TRY(Expression left, factor());
  while (peek() == '*' || peek() == '/') {
    Expression both;
    both.kind = Expression::Kind::kArithmetic;
    both.text = std::string(1, peek());
    take(peek());
    PLICA_TRY(Expression right, factor());
    both.operands.push_back(std::move(left));
    both.operands.push_back(std::move(right));
    left = std::move(both);
  }
  return left;
}

Result<Expression> Cursor::expression() {
  PLICA_TRY(Expression left, term());
  while (peek() == '+' || peek() == '-') {
    Expression both;
    both.kind = Expression::Kind::kArithmetic;
    both.text = std::string(1, peek());
    take(peek());
    PLICA_TRY(Expression right, term());
    both.operands.push_back(std::move(left));
    both.operands.push_back(std::move(right));
    left = std::move(both);
  }
  return left;
}

Result<Expression> Cursor::call(std::string name) {
  Expression result;
  result.kind = Expression::Kind::kCall;
  result.text = std::move(name);
  take('(');
  while (!take(')')) {
    PLICA_TRY(Expression operand, expression());
    result.operands.push_back(std::move(operand));
    if (peek() != ')' && !take(',')) return error("',' or ')'");
  }
  if (!take('{')) return result;
  while (!take('}')) {
    PLICA_TRY(AttrExpression attribute, attr());
    result.attrs.push_back(std::move(attribute));
    if (peek() != '}' && !take(',')) return error("',' or '}'");
  }
  return result;
}

Result<AttrExpression> Cursor::attr() {
  AttrExpression result;
  result.name = take_word();
  if (result.name.empty()) return error("an attribute's name");
  if (!take('=')) return error("'='");
  const size_t start = at_;
  if (auto value = attr_value(); value && (peek() == ',' || peek() == '}')) {
    result.value = *std::move(value);
    return result;
  }
  at_ = start;
  PLICA_TRY(result.expression, expression());
  return result;
}

Result<AttrValue> Cursor::attr_value() {
  if (take('[')) {
    std::vector<int64_t> list;
    while (!take(']')) {
      const std::string word = take_word();
      const auto number = parse_number(word);
      if (!number) return error("an integer");
      list.push_back(static_cast<int64_t>(*number));
      if (peek() != ']' && !take(',')) return error("',' or ']'");
    }
    return AttrValue(std::move(list));
  }
  if (take('"')) {
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) return error("a closing '\"'");
    std::string text(text_.substr(at_, end - at_));
    at_ = end + 1;
    return AttrValue(std::move(text));
  }
  const std::string word = take_word();
  if (word.empty() || word[0] == '$') return error("a value");
  if (word == "true" || word == "false") return AttrValue(word == "true");
  if (auto dtype = parse_dtype(word)) return AttrValue(*dtype);
  if (is_integer_text(word)) return AttrValue(static_cast<int64_t>(*parse_number(word)));
  if (auto number = parse_number(word)) return AttrValue(*number);
  return AttrValue(word);
}

Result<Statement> Cursor::statement() {
  Statement result;
  do {
    result.names.push_back(take_word());
    if (result.names.back().empty()) return error("a name");
  } while (take(','));
  if (!take('=')) return error("'='");
  PLICA_TRY(result.expression, expression());
  skip_blanks();
  if (!at_line_end()) return error("the end of the line");
  return result;
}

Result<std::vector<Statement>> parse_statements(std::string_view text) {
  std::vector<Statement> statements;
  for (Cursor cursor(text); !cursor.at_end();) {
    PLICA_TRY(Statement statement, cursor.statement());
    statements.push_back(std::move(statement));
  }
  return statements;
}

}  // namespace plica
