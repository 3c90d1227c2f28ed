#include "runtime/devices/delayed/fallback.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/aliases.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

using torch::jit::Stack;

// The argument that a result is, for ops that write into their arguments.
std::optional<std::size_t> written_argument(const c10::FunctionSchema& schema, std::size_t result) {
  const c10::AliasInfo* const info = schema.returns()[result].alias_info();
  if (info == nullptr) return std::nullopt;
  TORCH_CHECK(info->isWrite() && schema.name() != "aten::set_", schema.operator_name(),
              " is not supported on a delayed device");
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* const argument = schema.arguments()[i].alias_info();
    if (argument != nullptr && argument->beforeSets() == info->beforeSets()) return i;
  }
  TORCH_CHECK(false, schema.operator_name(), " is not supported on a delayed device");
}

// Ops with several results that are arguments (nll_loss_forward.output) return references to what was on the stack, and
// torch takes the arguments off before it puts the results on: somebody else has to hold them meanwhile.
void call_boxed(const c10::OperatorHandle& op, Stack& stack) {
  const Stack held = stack;
  op.callBoxed(&stack);
}

class Call {
 public:
  Call(const c10::OperatorHandle& op, Stack* stack)
      : op_(op),
        name_(op.schema().name().c_str()),
        stack_(*stack),
        arguments_(torch::jit::pop(stack_, op.schema().arguments().size())) {}

  void run() {
    const OnDevice there(device_of_arguments());
    const c10::FunctionSchema& schema = op_.schema();
    std::vector<c10::IValue> results(schema.returns().size());
    bool made = results.empty();  // some result is no argument
    bool tensors = true;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (const auto argument = written_argument(schema, i)) {
        results[i] = arguments_[*argument];
        made |= results[i].isTensor() && results[i].toTensor().numel() == 0;  // to be resized
      } else {
        made = true;
        tensors &= schema.returns()[i].type()->kind() == c10::TypeKind::TensorType;
      }
    }
    if (!tensors || (made && !results.empty() && !shape(results))) return wait_and_run();
    queue(results);
    for (c10::IValue& result : results) stack_.push_back(std::move(result));
  }

 private:
  int device_of_arguments() const {
    int index = -1;
    for (const c10::IValue& argument : arguments_) {
      map_tensors(argument, [&](const at::Tensor& tensor) {
        if (index < 0 && is_delayed(tensor)) index = tensor.device().index();
        return tensor;
      });
    }
    return index < 0 ? current().device : index;
  }
  // Makes the results, or gives those that are arguments their sizes. False if sizes depend on values.
  bool shape(std::vector<c10::IValue>& results) {
    Stack meta;
    for (const c10::IValue& argument : arguments_) {
      meta.push_back(argument.isDevice()
                         ? c10::IValue(c10::Device(c10::kMeta))
                         : map_tensors(argument, [](const at::Tensor& t) { return on_meta(t); }));
    }
    try {
      call_boxed(op_, meta);
    } catch (const c10::NotImplementedError&) {
      return false;
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const at::Tensor& like = meta[i].toTensor();
      if (results[i].isTensor()) {
        const at::Tensor& written = results[i].toTensor();
        if (written.sizes() != like.sizes()) written.resize_(like.sizes());
      } else if (like.defined()) {
        results[i] = at::empty_strided(like.sizes(), like.strides(), like.options().device(device()));
      } else {
        results[i] = at::Tensor();
      }
    }
    return true;
  }
  static at::Tensor on_meta(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    at::Tensor like = at::empty_strided(tensor.sizes(), tensor.strides(),
                                        tensor.options().device(c10::kMeta).pinned_memory(false));
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
      like.unsafeGetTensorImpl()->set_wrapped_number(true);
    return like;
  }
  static c10::Device device() { return {c10::kPrivateUse1, static_cast<c10::DeviceIndex>(current().device)}; }

  Stack on_cpu(Aliases& aliases) const {
    Stack stack;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const c10::AliasInfo* const info = op_.schema().arguments()[i].alias_info();
      stack.push_back(arguments_[i].isDevice()
                          ? c10::IValue(c10::Device(c10::kCPU))
                          : aliases.of(arguments_[i], info != nullptr && info->isWrite()));
    }
    return stack;
  }

  void queue(const std::vector<c10::IValue>& results) const {
    Aliases aliases(name_);
    Stack stack = on_cpu(aliases);
    std::vector<at::Tensor> into(results.size());  // undefined: an argument
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!written_argument(op_.schema(), i)) into[i] = aliases.into(results[i].toTensor());
    }
    machine(current().device)
        .enqueue(current().stream(), aliases.touched(), [op = op_, stack, into]() mutable {
          call_boxed(op, stack);
          for (std::size_t i = 0; i < into.size(); ++i) {
            if (!into[i].defined()) continue;
            const at::Tensor& result = stack[i].toTensor();
            TORCH_CHECK(result.sizes() == into[i].sizes(), op.schema().operator_name(), " gave ",
                        result.sizes(), " and on meta tensors ", into[i].sizes());
            into[i].copy_(result);
          }
        });
  }

  // Results that torch made without elements get memory of the CPU to grow in.
  void wait_and_run() {
    HostWaits::count(name_);
    Aliases aliases(name_);
    Stack stack = on_cpu(aliases);
    const std::size_t count = op_.schema().returns().size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto argument = written_argument(op_.schema(), i);
      if (!argument || arguments_[*argument].toTensor().numel() > 0) continue;
      stack[*argument] = at::empty({0}, arguments_[*argument].toTensor().options().device(c10::kCPU));
    }
    machine(current().device).run_behind(current().stream(), aliases.touched(), [&] {
      call_boxed(op_, stack);
    });
    for (std::size_t i = 0; i < count; ++i) {
      const auto argument = written_argument(op_.schema(), i);
      if (!argument) {
        stack_.push_back(map_tensors(stack[i], [](const at::Tensor& tensor) {
          return tensor.defined() ? tensor.to(device(), /*non_blocking=*/true) : tensor;
        }));
        continue;
      }
      const at::Tensor& written = arguments_[*argument].toTensor();
      if (written.numel() == 0)
        written.resize_(stack[i].toTensor().sizes()).copy_(stack[i].toTensor(), /*non_blocking=*/true);
      stack_.push_back(written);
    }
  }

  const c10::OperatorHandle& op_;
  const char* const name_;  // of the schema, which lives as long as the process
  Stack& stack_;
  const std::vector<c10::IValue> arguments_;
};

}  // namespace

void run_torch_op(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::NoGradGuard no_grad;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  Call(op, stack).run();
}

}  // namespace d9d::delayed
