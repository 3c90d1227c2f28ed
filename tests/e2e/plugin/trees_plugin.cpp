// A plugin for own_data_test: batches that are trees of tensors, made by a collation and read by a task.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <fmt/format.h>

#include "runtime/plugin/own_pieces.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/tensor/tensor_tree.hpp"

namespace trees {

struct Tokens {
  at::Tensor input_ids, labels, position_ids;
};
BOOST_DESCRIBE_STRUCT(Tokens, (), (input_ids, labels, position_ids))
struct Sums {
  at::Tensor ids;                    // int64 [B, 1]
  std::optional<at::Tensor> labels;  // the same, of those that count
};
BOOST_DESCRIBE_STRUCT(Sums, (), (ids, labels))
struct Batch : Tokens {
  Sums sums;
  std::vector<Sums> halves;  // of the sequence
};
BOOST_DESCRIBE_STRUCT(Batch, (Tokens), (sums, halves))

struct Summed {
  bool counts_labels = true;
  d9d::Count parts = 2;
};
BOOST_DESCRIBE_STRUCT(Summed, (), (counts_labels, parts))

Sums sums_of(const Tokens& tokens, bool with_labels) {
  Sums sums{tokens.input_ids.sum(1, true), std::nullopt};
  if (with_labels) sums.labels = tokens.labels.clamp_min(0).sum(1, true);
  return sums;
}

Batch summed(const Summed& keys, std::span<const d9d::Sample> samples) {
  Batch batch{d9d::tree_of<Tokens>(d9d::make_microbatch(samples)), {}, {}};
  batch.sums = sums_of(batch, keys.counts_labels);
  const auto parts = static_cast<std::int64_t>(keys.parts);
  const auto ids = batch.input_ids.chunk(parts, 1), labels = batch.labels.chunk(parts, 1);
  for (std::size_t i = 0; i < ids.size(); ++i)
    batch.halves.push_back(sums_of({ids[i], labels[i], {}}, i == 0));
  return batch;
}

// Trains as causal_lm does, after it has looked at the tree.
class Checked final : public d9d::TrainTask {
 public:
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    const auto batch = d9d::tree_of<Batch>(context.batch);
    D9D_REQUIRE(at::equal(batch.sums.ids, batch.input_ids.sum(1, true)), "sums/ids are of another batch");
    D9D_REQUIRE(batch.sums.labels && at::equal(*batch.sums.labels, batch.labels.clamp_min(0).sum(1, true)),
                "sums/labels are not there, or of another batch");
    D9D_REQUIRE(batch.halves.size() == 2 && batch.halves[0].labels && !batch.halves[1].labels &&
                    at::equal(batch.halves[0].ids + batch.halves[1].ids, batch.sums.ids),
                "{} parts of a sequence, expected two halves", batch.halves.size());
    return inner_.build_forward_inputs(context);
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    return inner_.compute_loss(context);
  }

 private:
  const d9d::CausalLmTask inner_;
};

}  // namespace trees

extern "C" void d9d_register(d9d::Registry& registry) {
  d9d::add_collation(registry, "summed", trees::summed);
  d9d::add_task<trees::Checked>(registry, "checked_lm");
}
