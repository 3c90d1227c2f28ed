// Each kind of missing wait is found and named whatever order the work would have run in; none where there is one.
#include "runtime/devices/delayed/order_check.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "kernels/activation.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_numbers.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::delayed {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

class DelayedOrder : public testing::Test {
 protected:
  ~DelayedOrder() override { join(); }  // then tensors are freed
  at::Tensor ones(at::IntArrayRef sizes) {
    return kept_.emplace_back(at::ones(sizes, at::TensorOptions(device_->place())));
  }
  // f on another stream: an error without an event, none with one.
  template <class F>
  void expect_named(F&& f, const std::string& now, const std::string& before) const {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      machine(0).reseed(seed);
      {
        const StreamScope there(*device_, StreamRole::communicate);
        EXPECT_THAT(error_of(f),
                    AllOf(HasSubstr(now + " on delayed:0 communicate"),
                          HasSubstr("does not come behind " + before + " on delayed:0 compute")));
      }
      join();
      const StreamScope there(*device_, StreamRole::communicate);
      EXPECT_EQ(error_of(f), "no error");
      join();
    }
  }
  void join() const {
    device_->wait(StreamRole::communicate, device_->record(StreamRole::compute));
    device_->wait(StreamRole::compute, device_->record(StreamRole::communicate));
  }

  const std::shared_ptr<Device> device_ = delayed_device(0);
  std::vector<at::Tensor> kept_;
};

TEST_F(DelayedOrder, NamesAReadBesideAWriteOfTorchsOps) {
  const at::Tensor x = ones({8});
  join();
  expect_named(
      [&, first = true]() mutable {
        if (first) {
          const StreamScope compute(*device_, StreamRole::compute);
          x.fill_(2);
        }
        first = !first;
        const at::Tensor y = x.add(1);
      },
      "aten::add", "aten::fill_");
}

TEST_F(DelayedOrder, NamesAWriteBesideARead) {
  const at::Tensor x = ones({8});
  join();
  expect_named(
      [&, first = true]() mutable {
        const StreamScope compute(*device_, first ? StreamRole::compute : StreamRole::communicate);
        const at::Tensor y = x.add(1);
        const StreamScope there(*device_, StreamRole::communicate);
        first = !first;
        x.fill_(2);
      },
      "aten::fill_", "aten::add");
}

TEST_F(DelayedOrder, NamesOurOwnOpsAndWhatTheyWriteInPlace) {
  const at::Tensor parameter = ones({64}), gradient = ones({64}), first = ones({64}), second = ones({64});
  join();
  expect_named(
      [&, once = true]() mutable {
        const StreamScope compute(*device_, once ? StreamRole::compute : StreamRole::communicate);
        once = !once;
        kernels::adamw_step(
            parameter, gradient, first, second,
            {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1, .step = 3});
        const StreamScope there(*device_, StreamRole::communicate);
        kernels::silu_mul(gradient, parameter);
      },
      "silu_mul", "adamw_step");
}

TEST_F(DelayedOrder, TellsBytesOfOneBufferApart) {
  const at::Tensor flat = ones({64});
  join();
  flat.narrow(0, 0, 32).fill_(2);
  flat.narrow(0, 60, 4).add(1);
  const StreamScope there(*device_, StreamRole::communicate);

  EXPECT_EQ(error_of([&] { flat.narrow(0, 32, 32).add(1); }), "no error") << "others were written";
  EXPECT_EQ(error_of([&] { flat.narrow(0, 32, 28).fill_(3); }), "no error") << "nobody reads these";
  EXPECT_THAT(error_of([&] { flat.narrow(0, 31, 2).add(1); }), HasSubstr("accesses to 4 bytes"));
  EXPECT_THAT(error_of([&] { flat.narrow(0, 32, 29).fill_(3); }), HasSubstr("which writes them"));
}

// Its indices may not be there yet.
TEST_F(DelayedOrder, RunsNothingAnyMoreUntilItIsSeededAnew) {
  const at::Tensor x = ones({8});
  device_->record().wait("a test");
  {
    const StreamScope there(*device_, StreamRole::communicate);
    x.fill_(2);
  }

  EXPECT_NE(error_of([&] { x.add(1); }), "no error");

  machine(0).reseed(1);
  EXPECT_EQ(x.cpu()[0].item<float>(), 1);
  x.fill_(3);
  EXPECT_EQ(x.cpu()[0].item<float>(), 3);
}

TEST_F(DelayedOrder, LetsStreamsReadTheSame) {
  const at::Tensor x = ones({8});
  join();
  x.add(1);
  const StreamScope there(*device_, StreamRole::communicate);

  EXPECT_EQ(error_of([&] { x.add(1); }), "no error");
}

// Only for the thread that waited; another hears of it by an event.
TEST_F(DelayedOrder, TakesAHostThatWaitedAsOrder) {
  const at::Tensor x = ones({8});
  const Event filled = device_->record();
  filled.wait("a test");
  const StreamScope there(*device_, StreamRole::communicate);

  EXPECT_EQ(error_of([&] { x.add(1); }), "no error");
  x.fill_(3);
  const StreamScope back(*device_, StreamRole::compute);
  EXPECT_THAT(error_of([&] { x.add(1); }), HasSubstr("aten::fill_ on delayed:0 communicate"));
}

TEST_F(DelayedOrder, NamesCopiesToAndFromTheHost) {
  const at::Tensor x = ones({8}), host = at::zeros({8});
  join();
  expect_named(
      [&, first = true]() mutable {
        const StreamScope compute(*device_, first ? StreamRole::compute : StreamRole::communicate);
        x.copy_(host, /*non_blocking=*/true);
        first = !first;
        const StreamScope there(*device_, StreamRole::communicate);
        copy_later(x);
      },
      "copy_", "copy_");
  x.fill_(1);
  const StreamScope there(*device_, StreamRole::communicate);
  EXPECT_THAT(error_of([&] { x.cpu(); }), HasSubstr("copy_ on delayed:0 communicate"));
}

TEST_F(DelayedOrder, NamesCopiesBetweenDevices) {
  const auto other = delayed_device(1);
  const at::Tensor x = ones({8}), there = at::empty({8}, at::TensorOptions(other->place()));

  EXPECT_THAT(error_of([&] { other->copy(there, x); }),
              AllOf(HasSubstr("copy on delayed:1 compute"), HasSubstr("aten::fill_ on delayed:0 compute")));
  other->wait(StreamRole::compute, device_->record());
  EXPECT_EQ(error_of([&] { other->copy(there, x); }), "no error");
  EXPECT_THAT(error_of([&] { x.fill_(2); }),
              AllOf(HasSubstr("aten::fill_ on delayed:0 compute"), HasSubstr("copy on delayed:1 compute")));
  device_->wait(StreamRole::compute, other->record(StreamRole::compute));
  EXPECT_EQ(error_of([&] { x.fill_(2); }), "no error");
}

}  // namespace
}  // namespace d9d::delayed
