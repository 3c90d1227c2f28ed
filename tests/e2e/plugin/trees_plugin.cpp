// A plugin for own_data_test: batches that are trees of tensors and texts, made by collations and read by tasks.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
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

// Texts of several lengths, each with its letters as tokens and a picture of bytes.
struct Letters final : d9d::SampleSource {
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 32; }
  d9d::Sample at(std::uint64_t index) const override {
    std::string text;
    for (std::uint64_t i = 0; i < 9 + index % 20; ++i) text += static_cast<char>('a' + (index + i) % 26);
    d9d::Sample sample{{text.begin(), text.end() - 1}, {text.begin() + 1, text.end()}};
    sample.values["pixels"] = at::full({2, 3}, static_cast<std::int64_t>(index % 256), at::kByte);
    sample.values["text"] = std::move(text);
    return sample;
  }
};

struct Captioned : Tokens {
  at::Tensor token_mask, pixels;
  std::vector<std::string> texts;
};
BOOST_DESCRIBE_STRUCT(Captioned, (Tokens), (token_mask, pixels, texts))

enum class Side { left, right };
BOOST_DESCRIBE_ENUM(Side, left, right)
struct CaptionedKeys {
  Side side = Side::right;
};
BOOST_DESCRIBE_STRUCT(CaptionedKeys, (), (side))

Captioned captioned(const CaptionedKeys& keys, std::span<const d9d::Sample> samples) {
  using d9d::Sample;
  const auto side = keys.side == Side::left ? d9d::PadSide::left : d9d::PadSide::right;
  Captioned batch;
  batch.input_ids = d9d::pad_stack(samples, &Sample::input_ids, {.value = 1, .side = side, .multiple_of = 8});
  batch.labels =
      d9d::pad_stack(samples, &Sample::labels, {.value = d9d::ignored_label, .side = side, .multiple_of = 8});
  batch.token_mask = d9d::pad_token_mask(samples, {.side = side, .multiple_of = 8});
  batch.position_ids = at::arange(batch.input_ids.size(1)).expand_as(batch.input_ids);
  std::vector<at::Tensor> pixels;
  for (const Sample& sample : samples) {
    pixels.push_back(sample.values.at("pixels").as<at::Tensor>());
    batch.texts.push_back(sample.values.at("text").as<std::string>());
  }
  batch.pixels = at::stack(pixels);
  return batch;
}

// Trains as causal_lm does, after it has compared texts with tokens.
class CaptionLm final : public d9d::TrainTask {
 public:
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    const auto batch = d9d::tree_of<Captioned>(context.batch);
    D9D_REQUIRE(batch.pixels.scalar_type() == at::kByte && batch.pixels.dim() == 3,
                "the pictures are no bytes");
    for (std::int64_t row = 0; row < std::ssize(batch.texts); ++row) {
      const std::string& text = batch.texts[static_cast<std::size_t>(row)];
      const at::Tensor ids = batch.input_ids[row].masked_select(batch.token_mask[row]);
      const std::vector<std::int64_t> letters(text.begin(), text.end() - 1);
      D9D_REQUIRE(at::equal(ids, at::tensor(letters, at::kLong)), "{} has other letters than tokens", text);
    }
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
  d9d::add_source<trees::Letters>(registry, "letters");
  d9d::add_collation(registry, "captioned", trees::captioned);
  d9d::add_task<trees::CaptionLm>(registry, "caption_lm");
}
