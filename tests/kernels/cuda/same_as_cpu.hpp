#pragma once
// The CPU's op as the oracle of that of another device.

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include <string>
#include <tuple>
#include <vector>

#include "kernels/ops/tensors_in.hpp"
#include "kernels/result_shapes.hpp"
#include "kernels/run_op.hpp"
#include "tests/kernels/cuda/under_test.hpp"

namespace d9d::test {

// Of |given - expected| <= absolute + relative * |expected|.
struct Closeness {
  double relative, absolute;
};
// fp32: 1e-5. bf16: one rounding, which is a last place of its 8 bits.
inline Closeness closeness_of(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? Closeness{1.0 / 128, 1e-5} : Closeness{1e-5, 1e-5};
}

// How much further than a rounding of fp32 fp32 sums of bf16 rows may be: a library rounds them to bf16 first.
inline double rounding_of_row_sums(at::ScalarType rows) {
  return rows == at::kBFloat16 ? closeness_of(at::kBFloat16).relative / closeness_of(at::kFloat).relative : 1;
}

// How many roundings apart results may be, and how far whatever their size: where terms were rounded before their sum.
struct Roundings {
  Roundings(double of_results, double of_terms = 0) : factor(of_results), absolute(of_terms) {}
  double factor, absolute;
};

inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() == b.defined() && (!a.defined() || at::equal(a.cpu(), b.cpu()));
}

inline void expect_close(const at::Tensor& given, const at::Tensor& expected, const Roundings& roundings,
                         const std::string& where) {
  ASSERT_EQ(given.defined(), expected.defined()) << where;
  if (!given.defined()) return;
  ASSERT_EQ(given.sizes(), expected.sizes()) << where;
  ASSERT_EQ(given.scalar_type(), expected.scalar_type()) << where;
  const Closeness close = closeness_of(given.scalar_type());
  const at::Tensor a = given.cpu().to(at::kDouble), b = expected.cpu().to(at::kDouble);
  EXPECT_TRUE(at::allclose(a, b, roundings.factor * close.relative,
                           roundings.factor * close.absolute + roundings.absolute))
      << where << ": differs by " << (a - b).abs().max().item<double>() << " where values are up to "
      << b.abs().max().item<double>();
}

// The same values on the device under test, or in other memory of the CPU.
template <class T, class Copy>
T copied(T value, const Copy& copy) {
  kernels::for_tensors(value, [&](at::Tensor& tensor) {
    if (tensor.defined()) tensor = copy(tensor);
  });
  return value;
}

inline at::Tensor copy_here(const at::Tensor& tensor) {
  const auto elements = static_cast<int64_t>(tensor.storage().nbytes() / tensor.element_size());
  return tensor.as_strided({elements}, {1}, 0)
      .clone()
      .as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

// The tensors of an op's result, then those of its arguments, which it may have written to.
template <class Result, class... Parameters>
std::vector<at::Tensor> tensors_after(Result (*op)(Parameters...), std::decay_t<Parameters>... arguments) {
  std::vector<at::Tensor> tensors;
  const auto collect = [&](auto& value) {
    kernels::for_tensors(value, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  };
  if constexpr (std::is_void_v<Result>) {
    op(arguments...);
  } else {
    Result result = op(arguments...);
    collect(result);
  }
  (collect(arguments), ...);
  return tensors;
}

// Devices that are late know the shapes of results by kernels/result_shapes.hpp only.
inline void expect_promised_shape(const at::Tensor& given, const at::Tensor& promised,
                                  const std::string& where) {
  ASSERT_EQ(given.defined(), promised.defined()) << where << ": promised otherwise";
  if (!given.defined()) return;
  EXPECT_EQ(given.sizes(), promised.sizes()) << where << ": another shape than promised";
  EXPECT_EQ(given.scalar_type(), promised.scalar_type()) << where << ": another dtype than promised";
}

// Runs the op of the CPU's table and that under test on copies of the arguments. Results and arguments are then as
// close as `roundings` says, each run of the op under test gives the same bits, and its results have the shapes that
// kernels/result_shapes.hpp promises.
template <class Group, class Result, class... Parameters>
void expect_same_as_cpu(kernels::Op<Result(Parameters...)> Group::*op, const Roundings& roundings,
                        const std::type_identity_t<std::decay_t<Parameters>>&... arguments) {
  static const at::Tensor of_cpu = at::Tensor(c10::make_intrusive<c10::TensorImpl>(
      c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>(), c10::Device(at::kCPU)));
  const char* const name = (kernels::op_detail::names.*op).name();
  const auto expected = tensors_after((kernels::op_detail::table_of(name, &of_cpu).*op).function(),
                                      copied(arguments, copy_here)...);
  const auto under_test = (table_under_test().*op).function();
  ASSERT_NE(under_test, nullptr) << name;
  compared_ops().insert(name);
  // It asks the host how many labels count, and so gives fewer than the most that the rule can promise.
  constexpr bool may_give_less = std::is_same_v<Result, kernels::ValidTokens>;
  std::vector<at::Tensor> first;
  for (int run = 0; run < runs_of_an_op; ++run) {
    choose_run(run);
    const std::tuple<std::decay_t<Parameters>...> inputs(copied(arguments, there)...);
    const auto after = [&](auto function) {
      return std::apply([&](const auto&... input) { return tensors_after(function, input...); }, inputs);
    };
    const auto promised = after((kernels::result_shapes().*op).function()), given = after(under_test);
    ASSERT_EQ(given.size(), expected.size()) << name;
    ASSERT_EQ(given.size(), promised.size()) << name;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string where =
          std::string(name) + ", tensor " + std::to_string(i) + " of its results and arguments";
      if (!may_give_less) expect_promised_shape(given[i], promised[i], where);
      if (run == 0) {
        expect_close(given[i], expected[i], roundings, where);
      } else {
        EXPECT_TRUE(same_bits(given[i], first[i])) << where << ": other bits in another order";
      }
    }
    if (run == 0) first = given;
  }
}

}  // namespace d9d::test
