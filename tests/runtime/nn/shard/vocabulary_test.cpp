// Words on three ranks: logits for all of them, and what they do to the gradients.
#include "runtime/nn/shard/vocabulary.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <functional>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/comm/shared_memory/single.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "tests/support/gradcheck.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d::test {
namespace {

constexpr int vocabulary_ranks = 3;
constexpr std::int64_t vocabulary_cuts[] = {0, 5, 9, 13};  // of 13 words, near-even

void run_vocabulary_ranks(const std::function<void(int, const VocabularyShards&)>& work) {
  SharedMemoryHub hub;
  in_threads(vocabulary_ranks, [&](int rank) {
    const SharedCommunicator group = hub.open({"tp", {0, 1, 2}, rank, true}, std::chrono::seconds(10));
    work(rank, VocabularyShards({group, 1}, {13}));
  });
}

at::Tensor words_of(const at::Tensor& weight, int rank) {
  return weight.narrow(0, vocabulary_cuts[rank], vocabulary_cuts[rank + 1] - vocabulary_cuts[rank]);
}

at::Tensor tokens_of(const at::Tensor& hidden, int rank) {
  return hidden.narrow(1, 2 * rank, 2);
}

TEST(VocabularyShards, GiveTheLogitsOfAllWordsAndTheirGradients) {
  const at::Tensor hidden = values({2, 6, 4}, 1).requires_grad_();
  const at::Tensor weight = values({13, 4}, 2).requires_grad_();
  const at::Tensor expected = at::linear(hidden, weight);
  at::logsumexp(expected, {2}).sum().backward();

  run_vocabulary_ranks([&](int rank, const VocabularyShards& vocabulary) {
    const at::Tensor own_hidden = tokens_of(hidden.detach(), rank).clone().requires_grad_();
    const at::Tensor own_weight = words_of(weight.detach(), rank).clone().requires_grad_();

    const at::Tensor logits = vocabulary.logits(own_hidden, own_weight, {});
    at::logsumexp(logits, {2}).sum().backward();

    EXPECT_EQ(vocabulary.first(), vocabulary_cuts[rank]);
    expect_close(logits, expected, 1e-12, "logits");
    expect_close(own_hidden.grad(), tokens_of(hidden.grad(), rank), 1e-12, "gradient of hidden");
    expect_close(own_weight.grad(), words_of(weight.grad(), rank), 1e-12, "gradient of weight");
  });
}

TEST(VocabularyShards, GiveTheLogitsOfSomePositions) {
  const at::Tensor hidden = values({2, 6, 4}, 1), weight = values({13, 4}, 2);
  const at::Tensor positions = at::tensor({5, 0}, at::kLong);

  run_vocabulary_ranks([&](int rank, const VocabularyShards& vocabulary) {
    const at::Tensor logits = vocabulary.logits(tokens_of(hidden, rank), words_of(weight, rank), positions);

    expect_close(logits, at::linear(hidden, weight).index_select(1, positions), 1e-12, "logits");
  });
}

// As batching.cut_to_longest leaves of a microbatch of short samples: a token for each rank.
TEST(VocabularyShards, GiveTheLossesOfSamplesWithATokenARank) {
  const at::Tensor hidden = values({2, 3, 4}, 1).requires_grad_();
  const at::Tensor weight = values({13, 4}, 2).requires_grad_();
  const at::Tensor labels = at::tensor({0, 12, -100, 5, 7, 9}, at::kLong).view({2, 3});
  const at::Tensor expected = at::cross_entropy_loss(at::linear(hidden, weight).flatten(0, 1),
                                                     labels.flatten(), {}, at::Reduction::None, -100);
  expected.sum().backward();

  run_vocabulary_ranks([&](int rank, const VocabularyShards& vocabulary) {
    const at::Tensor own_hidden = hidden.detach().narrow(1, rank, 1).clone().requires_grad_();
    const at::Tensor own_weight = words_of(weight.detach(), rank).clone().requires_grad_();

    const at::Tensor losses = vocabulary.loss(own_hidden, {own_weight}, labels);
    losses.sum().backward();

    expect_close(losses, expected.view({2, 3}), 1e-12, "losses");
    expect_close(own_hidden.grad(), hidden.grad().narrow(1, rank, 1), 1e-12, "gradient of hidden");
    expect_close(own_weight.grad(), words_of(weight.grad(), rank), 1e-12, "gradient of weight");
  });
}

TEST(VocabularyShards, OfSeveralTablesLetTheHostOfADeviceGoOn) {
  const auto device = delayed_device(0);
  const VocabularyShards vocabulary({std::make_shared<SingleCommunicator>("tp"), 1}, {5, 8});
  const at::Tensor hidden = values({2, 3, 4}, 1), first = values({5, 4}, 2), second = values({8, 4}, 3);
  const at::Tensor words = values({2, 3, 13}, 4),
                   labels = at::tensor({0, 4, 5, 12, -100, 7}, at::kLong).view({2, 3});
  const auto there = [&](const at::Tensor& tensor) { return upload(tensor, *device); };
  const std::vector<at::Tensor> given{there(hidden), there(first), there(second), there(labels),
                                      there(words)};
  HostWaits::take();

  const at::Tensor loss = vocabulary.loss(given[0], {given[1], given[2]}, given[3]);
  const at::Tensor all = vocabulary.collect_words(given[4]);

  EXPECT_TRUE(HostWaits::take().empty());
  EXPECT_TRUE(loss.cpu().equal(vocabulary.loss(hidden, {first, second}, labels)));
  EXPECT_TRUE(all.cpu().equal(words)) << "one rank has them in order";
}

}  // namespace
}  // namespace d9d::test
