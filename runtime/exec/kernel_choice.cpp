#include "runtime/exec/kernel_choice.h"

#include <algorithm>

#include "runtime/core/shape.h"

namespace plica {
namespace {

// A request with some of its inputs made dense.
class Attempt {
 public:
  Attempt(const KernelRequest& request, std::vector<size_t> to_copy)
      : request_(request), to_copy_(std::move(to_copy)), in_(request.in), out_types_(request.out) {
    dense_.reserve(to_copy_.size());
    for (size_t i : to_copy_) {
      dense_.push_back({in_[i].type->dtype, in_[i].type->shape, {}});
      in_[i].type = &dense_.back();
      in_[i].alignment_bytes = 64;
    }
  }

  // Null where the kernel takes it.
  const char* declines(const Kernel& kernel, bool preferred) {
    if (kernel.declines == nullptr) return nullptr;
    out_.clear();
    for (size_t i = 0; i < out_types_.size(); ++i) {
      out_types_[i].strides = preferred ? request_.preferred[i] : Strides{};
      out_.push_back({&out_types_[i], nullptr, request_.out_alignments[i]});
    }
    return kernel.declines(request_.attrs, {in_, out_, request_.options->device, request_.options->precision});
  }

  const std::vector<size_t>& to_copy() const { return to_copy_; }

 private:
  const KernelRequest& request_;
  std::vector<size_t> to_copy_;
  std::vector<Operand> in_, out_;
  std::vector<TensorType> dense_, out_types_;
};

// What may be copied, in the order of trying: nothing, one strided operand, all of them.
std::vector<std::vector<size_t>> copies_to_try(const KernelRequest& request) {
  std::vector<std::vector<size_t>> sets{{}};
  std::vector<size_t> strided;
  for (size_t i = 0; i < request.in.size(); ++i)
    if (request.in[i].type != nullptr && !is_dense(*request.in[i].type)) strided.push_back(i);
  for (size_t i : strided) sets.push_back({i});
  if (strided.size() > 1) sets.push_back(strided);
  return sets;
}

// The plain kernel of a backend: `ref`, or the last one, which takes most.
bool is_plain(const Kernels& all, const Kernel& kernel, bool reference) {
  return kernel.name == "ref" || (reference && all.back().name != "ref" && &kernel == &all.back());
}

bool wants_layout(const KernelRequest& request) {
  for (const Strides& strides : request.preferred)
    if (!strides.empty()) return true;
  return false;
}

// The kernel that the options force on the operator; null: none.
const Kernel* forced_kernel(const KernelRequest& request) {
  const Kernel* kernel = nullptr;
  for (const ForcedKernel& forced : request.options->kernels)
    if (forced.op == request.op && !request.options->reference) kernel = forced.kernel;
  return kernel;
}

Result<KernelChoice> force(const Kernel& kernel, const KernelRequest& request) {
  KernelChoice choice;
  choice.kernel = &kernel;
  for (const Kernel& other : request.kernels)
    if (other.name != kernel.name) choice.declined.push_back({other.name, std::string(kernel.name) + " is forced"});
  std::string why;
  for (const std::vector<size_t>& set : copies_to_try(request)) {
    Attempt operands(request, set);
    if (const char* reason = operands.declines(kernel, false); reason != nullptr) {
      if (set.empty()) why = reason;
      continue;
    }
    choice.to_copy = set;
    choice.takes_preferred = wants_layout(request) && operands.declines(kernel, true) == nullptr;
    return choice;
  }
  return Error(Code::kUnsupported, std::string(request.op->name) + ": the forced kernel '" + std::string(kernel.name) +
                                       "' declines: " + why);
}

std::string names_of(Kernels kernels) {
  std::string text;
  for (const Kernel& kernel : kernels) text.append(text.empty() ? "'" : ", '").append(kernel.name).append("'");
  return text;
}

}  // namespace

Result<KernelChoice> choose_kernel(const KernelRequest& request) {
  const Kernels all = request.kernels;
  if (const Kernel* kernel = forced_kernel(request)) return force(*kernel, request);
  KernelChoice choice;
  const std::vector<std::vector<size_t>> sets = copies_to_try(request);
  const auto attempt = [&](bool ref, const std::vector<size_t>& set) {
    Attempt operands(request, set);
    for (const Kernel& kernel : all) {
      if (is_plain(all, kernel, request.options->reference) != ref) continue;
      if (const char* why = operands.declines(kernel, false); why != nullptr) {
        if (set.empty()) choice.declined.push_back({kernel.name, why});
        continue;
      }
      choice.kernel = &kernel;
      choice.to_copy = set;
      choice.takes_preferred = !ref && wants_layout(request) && operands.declines(kernel, true) == nullptr;
      return true;
    }
    return false;
  };
  if (!request.options->reference)
    for (const std::vector<size_t>& set : sets)
      if (attempt(false, set)) return choice;
  for (const std::vector<size_t>& set : sets)
    if (attempt(true, set)) return choice;

  std::string text(request.op->name);
  text.append(all.empty() ? " has no kernel on this device" : ": every kernel declines");
  for (const Declined& declined : choice.declined)
    text.append("\n  ").append(declined.kernel).append(": ").append(declined.why);
  return Error(Code::kUnsupported, std::move(text));
}

Result<std::vector<ForcedKernel>> forced_kernels(const std::vector<std::string>& texts, Device device) {
  std::vector<ForcedKernel> forced;
  for (const std::string& text : texts) {
    const std::string place = "forced kernel '" + text + "': ";
    const size_t equal = text.find('=');
    if (equal == std::string::npos)
      return Error(Code::kInvalidInput, place + "found no '=', wanted OPERATOR=KERNEL, as in Attention=ref");
    const std::string op_name = text.substr(0, equal), name = text.substr(equal + 1);
    const OpDef* op = find_op(op_name);
    if (op == nullptr)
      return Error(Code::kInvalidInput,
                   place + "found operator '" + op_name + "', wanted one that `plica explain` shows");
    const Kernels all = kernels(*op, device);
    const auto kernel = std::find_if(all.begin(), all.end(), [&](const Kernel& k) { return k.name == name; });
    if (kernel == all.end())
      return Error(Code::kInvalidInput,
                   place + "found kernel '" + name + "', wanted " +
                       (all.empty() ? "an operator that has kernels on this device" : "one of " + names_of(all)));
    forced.push_back({op, &*kernel});
  }
  return forced;
}

}  // namespace plica
