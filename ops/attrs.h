#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "plica/tensor.h"
#include "runtime/core/result.h"

namespace plica {

// One attribute as text notation, rules and importers see it. Enums appear as their names.
using AttrValue = std::variant<bool, int64_t, double, DType, std::vector<int64_t>, std::string>;

std::string to_string(const AttrValue& value);  // true, 3, 1e-05, f32, [0,2,1], "text"

// A member of an attribute struct, listed in its fields().
template <class Owner, class T>
struct Field {
  std::string_view name;
  T Owner::*member;
};
template <class Owner, class T>
Field(const char*, T Owner::*) -> Field<Owner, T>;

// Conversions between a member's type and AttrValue. An enum E has `constexpr auto names_of(E)` (found by ADL), an
// array of its names in order; a type with to_text() and static Result<T> from_text(std::string_view) travels as text.
template <class T>
AttrValue to_attr(const T& member) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                std::is_same_v<T, DType> || std::is_same_v<T, std::vector<int64_t>>) {
    return member;
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(names_of(T{})[static_cast<size_t>(member)]);
  } else {
    return member.to_text();
  }
}

template <class T>
Status from_attr(const AttrValue& value, T& member) {
  if constexpr (std::is_same_v<T, double>) {
    if (auto* i = std::get_if<int64_t>(&value)) return member = static_cast<double>(*i), Status{};
  }
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                std::is_same_v<T, DType> || std::is_same_v<T, std::vector<int64_t>>) {
    if (auto* v = std::get_if<T>(&value)) return member = *v, Status{};
  } else if (auto* text = std::get_if<std::string>(&value)) {
    if constexpr (std::is_enum_v<T>) {
      const auto& names = names_of(T{});
      for (size_t i = 0; i < std::size(names); ++i)
        if (names[i] == *text) return member = static_cast<T>(i), Status{};
    } else {
      PLICA_TRY(member, T::from_text(*text));
      return {};
    }
  }
  return Error(Code::kInvalidModel, "attribute value " + to_string(value) + " is not of the attribute's type");
}

// What the tree does with an attribute struct that it does not know.
struct AttrsDef {
  std::span<const std::string_view> names;
  std::shared_ptr<void> (*clone)(const void* attrs);  // a copy; of null: the default
  AttrValue (*get)(const void* attrs, size_t field);
  Status (*set)(void* attrs, size_t field, const AttrValue& value);
  bool (*equal)(const void* a, const void* b);
};

namespace attrs_internal {

template <class T>
struct Access {
  static constexpr auto kFields = T::fields();
  static constexpr size_t kCount = std::tuple_size_v<decltype(kFields)>;
  static constexpr auto kNames =
      std::apply([](const auto&... f) { return std::array<std::string_view, sizeof...(f)>{f.name...}; }, kFields);

  static std::shared_ptr<void> clone(const void* attrs) {
    return attrs ? std::make_shared<T>(*static_cast<const T*>(attrs)) : std::make_shared<T>();
  }
  static AttrValue get(const void* attrs, size_t field) {
    AttrValue value;
    size_t i = 0;
    std::apply(
        [&](const auto&... f) {
          ((i++ == field ? void(value = to_attr(static_cast<const T*>(attrs)->*f.member)) : void()), ...);
        },
        kFields);
    return value;
  }
  static Status set(void* attrs, size_t field, const AttrValue& value) {
    Status status;
    size_t i = 0;
    std::apply(
        [&](const auto&... f) {
          ((i++ == field ? void(status = from_attr(value, static_cast<T*>(attrs)->*f.member)) : void()), ...);
        },
        kFields);
    return status;
  }
  static bool equal(const void* a, const void* b) { return *static_cast<const T*>(a) == *static_cast<const T*>(b); }
};

}  // namespace attrs_internal

template <class T>
constexpr AttrsDef kAttrsDef = {
    .names = attrs_internal::Access<T>::kNames,
    .clone = attrs_internal::Access<T>::clone,
    .get = attrs_internal::Access<T>::get,
    .set = attrs_internal::Access<T>::set,
    .equal = attrs_internal::Access<T>::equal,
};

// An immutable attribute struct of some operator, with its type forgotten. Copies share it.
class Attrs {
 public:
  Attrs() = default;
  template <class T>
  requires requires { T::fields(); }
  Attrs(T value) : def_(&kAttrsDef<T>), value_(std::make_shared<const T>(std::move(value))) {}
  Attrs(const AttrsDef& def, std::shared_ptr<const void> value) : def_(&def), value_(std::move(value)) {}

  template <class T>
  const T& as() const {
    return *static_cast<const T*>(value_.get());
  }
  const void* get() const { return value_.get(); }
  const AttrsDef* def() const { return def_; }
  bool operator==(const Attrs& other) const;

 private:
  const AttrsDef* def_ = nullptr;
  std::shared_ptr<const void> value_;
};

std::string to_string(const Attrs& attrs);  // "{eps=1e-05}"; fields at their default are left out, "" where all are

}  // namespace plica
