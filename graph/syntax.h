#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/attrs.h"
#include "runtime/core/result.h"

namespace plica {

struct AttrExpression;

// The tree of what the text notation writes: x, bias?, _, $eps, 0.5, 1/$a, LayerNorm(x, gamma) {eps=1e-05}.
struct Expression {
  enum class Kind : uint8_t { kName, kAbsent, kCapture, kNumber, kCall, kArithmetic };
  Kind kind = Kind::kName;
  std::string text;                  // the name, the capture with its $, the operator's name, or one of + - * /
  double number = 0;                 // of kNumber
  bool optional = false;             // name?
  std::vector<Expression> operands;  // of kCall and kArithmetic
  std::vector<AttrExpression> attrs;
};

// One attribute between braces: a value, or (where `value` is absent) an expression over captures.
struct AttrExpression {
  std::string name;
  std::optional<AttrValue> value;
  Expression expression;
};

// y = Add(a, b)    values, indices = TopK(x) {k=3}
struct Statement {
  std::vector<std::string> names;
  Expression expression;
};

// Reads the notation from left to right. Errors are kInvalidModel and name the line.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at_end();       // after blanks, newlines and # comments
  void skip_blanks();  // spaces and comments of this line
  bool take(char c);   // skips blanks, then c if it is next
  bool at_line_end() const;
  std::string
  take_word();  // letters, digits, _ . % $ and a leading sign or a sign behind an exponent's e; may be empty
  char peek();  // after blanks; 0 at the end
  bool next_is(std::string_view keyword);  // the word that follows, without taking it

  Result<Expression> expression();
  Result<Statement> statement();
  Result<AttrValue> attr_value();
  Error error(std::string_view wanted);

 private:
  Result<Expression> term();
  Result<Expression> factor();
  Result<Expression> call(std::string name);
  Result<AttrExpression> attr();

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;  // of parentheses and braces: inside them a newline is a blank
};

Result<std::vector<Statement>> parse_statements(std::string_view text);

// A number as the whole of `text`, else nothing.
std::optional<double> parse_number(std::string_view text);

}  // namespace plica
