#include "ops/attrs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/attention.h"
#include "ops/map.h"
#include "ops/pad.h"
#include "ops/pointwise.h"

namespace plica {
namespace {

Status set(const AttrsDef& def, void* attrs, std::string_view name, const AttrValue& value) {
  for (size_t i = 0; i < def.names.size(); ++i)
    if (def.names[i] == name) return def.set(attrs, i, value);
  return Error(Code::kInternal, "no field " + std::string(name));
}

TEST(Attrs, PrintsWhatIsNotTheDefault) {
  EXPECT_EQ(to_string(Attrs(ops::Attention{})), "");
  EXPECT_EQ(to_string(Attrs(ops::Attention{.scale = 0.125, .causal = true})), "{scale=0.125, causal=true}");
  EXPECT_EQ(to_string(Attrs(ops::Pad{{1, 0}, {0, 2}, ops::PadMode::kEdge})),
            "{before=[1,0], after=[0,2], mode=\"edge\"}");
  EXPECT_EQ(to_string(Attrs(ops::Cast{DType::kI64})), "{to=i64}");
  EXPECT_EQ(to_string(Attrs(ops::Pointwise{})), "");
  EXPECT_EQ(to_string(Attrs(ops::Map{ops::program_of(ops::Fn::kAdd, DType::kF32)})), "{program=\"Add(x0,x1)\"}");
}

TEST(Attrs, FloatsPrintSoThatTheyParseBackAsFloats) {
  EXPECT_EQ(to_string(AttrValue(1.0)), "1.0");
  EXPECT_EQ(to_string(AttrValue(1e-05)), "1e-05");
  EXPECT_EQ(to_string(AttrValue(-INFINITY)), "-inf");
  EXPECT_EQ(to_string(AttrValue(int64_t{1})), "1");
}

TEST(Attrs, FieldsAreSetByName) {
  const AttrsDef& def = kAttrsDef<ops::Pad>;
  const std::shared_ptr<void> pad = def.clone(nullptr);
  EXPECT_TRUE(set(def, pad.get(), "before", std::vector<int64_t>{3}));
  EXPECT_TRUE(set(def, pad.get(), "mode", std::string("wrap")));
  EXPECT_EQ(static_cast<const ops::Pad*>(pad.get())->before, (std::vector<int64_t>{3}));
  EXPECT_EQ(static_cast<const ops::Pad*>(pad.get())->mode, ops::PadMode::kWrap);

  ops::Attention attention;
  EXPECT_TRUE(set(kAttrsDef<ops::Attention>, &attention, "scale", int64_t{2}));  // a whole number for a float
  EXPECT_EQ(attention.scale, 2);
}

TEST(Attrs, RefusesAValueOfAnotherType) {
  ops::Pad pad;
  const Status wrong = set(kAttrsDef<ops::Pad>, &pad, "mode", std::string("mirror"));
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().what().find("\"mirror\""), std::string::npos);
  EXPECT_FALSE(set(kAttrsDef<ops::Pad>, &pad, "before", 1.5));
  ops::Map map;
  EXPECT_FALSE(set(kAttrsDef<ops::Map>, &map, "program", std::string("Add(x0")));
}

TEST(Attrs, CompareByTypeAndValue) {
  const Attrs a(ops::Cast{DType::kI8}), same(ops::Cast{DType::kI8}), other(ops::Cast{DType::kI16});
  EXPECT_EQ(a, same);
  EXPECT_FALSE(a == other);
  EXPECT_FALSE(a == Attrs(ops::Pointwise{}));
  EXPECT_EQ(Attrs(), Attrs());
  EXPECT_EQ(a.as<ops::Cast>().to, DType::kI8);
}

}  // namespace
}  // namespace plica
