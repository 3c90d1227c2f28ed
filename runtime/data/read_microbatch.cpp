#include "runtime/data/read_microbatch.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

namespace {

bool has_documents(const Sample& sample) {
  return !sample.document_starts.empty();
}

void fill_starts(const Sample& sample, std::int64_t* starts, std::int64_t length) {
  std::fill(starts, starts + length, 0);
  std::ranges::copy(sample.document_starts, starts);
}

bool is_filled_up(const Sample& sample) {
  return std::ranges::find(sample.token_mask, false) != sample.token_mask.end();
}

// Where nothing is filled up there is no mask.
void add_token_mask(std::span<const Sample> samples, std::int64_t length, TensorMap& out) {
  for (const Sample& sample : samples) {
    D9D_REQUIRE(sample.token_mask.empty() || static_cast<std::int64_t>(sample.token_mask.size()) == length,
                "sample {} of the microbatch has a token_mask of {}, expected {} or none",
                &sample - samples.data(), sample.token_mask.size(), length);
  }
  if (std::ranges::none_of(samples, is_filled_up)) return;
  at::Tensor& mask = out["token_mask"] = at::ones({std::ssize(samples), length}, at::kBool);
  bool* row = mask.mutable_data_ptr<bool>();
  for (const Sample& sample : samples) {
    std::ranges::copy(sample.token_mask, row);
    row += length;
  }
}

void add_numbers(std::span<const Sample> samples, TensorMap& out) {
  for (const auto& [name, first] : samples[0].numbers) {
    D9D_REQUIRE(!out.contains(name),
                "the samples have numbers called {}, which is a tensor of every batch; rename them", name);
    const auto count = static_cast<std::int64_t>(first.size());
    at::Tensor& rows = out[name] = at::empty({static_cast<std::int64_t>(samples.size()), count}, at::kFloat);
    float* row = rows.mutable_data_ptr<float>();
    for (const Sample& sample : samples) {
      const auto found = sample.numbers.find(name);
      D9D_REQUIRE(found != sample.numbers.end() && found->second.size() == first.size(),
                  "the samples of a microbatch differ in their numbers: one has {} of {}, another {}",
                  first.size(), name, found == sample.numbers.end() ? 0 : found->second.size());
      row = std::ranges::copy(found->second, row).out;
    }
  }
}

void add_values(std::span<const Sample> samples, TensorMap& out) {
  for (const auto& [name, first] : samples[0].values) {
    D9D_REQUIRE(!out.contains(name),
                "the samples have a value called {}, which is a tensor of every batch; rename it", name);
    const at::Tensor* const expected = first.find<at::Tensor>();
    std::vector<at::Tensor> rows;
    for (const Sample& sample : samples) {
      const auto found = sample.values.find(name);
      const at::Tensor* const row = found == sample.values.end() ? nullptr : found->second.find<at::Tensor>();
      D9D_REQUIRE(row != nullptr && row->defined() && row->sizes() == expected->sizes() &&
                      row->scalar_type() == expected->scalar_type(),
                  "the values {} of a microbatch's samples are not tensors of one shape and dtype, so they "
                  "cannot be stacked; register a collation that makes tensors of them",
                  name);
      rows.push_back(*row);
    }
    out[name] = at::stack(rows);
  }
}

}  // namespace

TensorMap make_microbatch(std::span<const Sample> samples) {
  D9D_CHECK(!samples.empty(), "a microbatch without samples");
  const auto batch = static_cast<std::int64_t>(samples.size());
  const auto length = static_cast<std::int64_t>(samples[0].input_ids.size());
  const auto make = [&] { return at::empty({batch, length}, at::kLong); };
  TensorMap out{{"input_ids", make()}, {"labels", make()}, {"position_ids", make()}};
  const bool packed = std::ranges::any_of(samples, has_documents);
  if (packed) out["document_starts"] = make();
  const auto row = [&](const char* name, std::int64_t b) {
    return out.at(name).mutable_data_ptr<std::int64_t>() + b * length;
  };
  for (std::int64_t b = 0; b < batch; ++b) {
    const Sample& sample = samples[static_cast<std::size_t>(b)];
    D9D_REQUIRE(sample.numbers.size() == samples[0].numbers.size() &&
                    sample.values.size() == samples[0].values.size(),
                "the samples of a microbatch differ in the names of their numbers or values");
    D9D_REQUIRE(static_cast<std::int64_t>(sample.input_ids.size()) == length &&
                    static_cast<std::int64_t>(sample.labels.size()) == length,
                "sample {} of the microbatch has {} inputs and {} labels, expected {} as the first", b,
                sample.input_ids.size(), sample.labels.size(), length);
    std::ranges::copy(sample.input_ids, row("input_ids", b));
    std::ranges::copy(sample.labels, row("labels", b));
    D9D_REQUIRE(
        sample.document_starts.empty() || static_cast<std::int64_t>(sample.document_starts.size()) == length,
        "sample {} of the microbatch has {} document starts, expected {} or none", b,
        sample.document_starts.size(), length);
    if (packed) fill_starts(sample, row("document_starts", b), length);
    for (std::int64_t i = 0; i < length; ++i) {
      row("position_ids", b)[i] = i - (packed ? row("document_starts", b)[i] : 0);
    }
  }
  add_token_mask(samples, length, out);
  add_numbers(samples, out);
  add_values(samples, out);
  return out;
}

TensorMap collate(std::span<const Sample> samples, const Collation* collation) {
  return collation != nullptr ? collation->collate(samples) : make_microbatch(samples);
}

void cut_to_longest(const SampleSource& source, std::uint64_t first, std::int64_t unit,
                    std::vector<Sample>& samples) {
  std::int64_t longest = 1;
  for (std::size_t i = 0; i < samples.size(); ++i)
    longest = std::max(longest, source.sort_key(first + i).value_or(source.sequence_length()));
  const auto length = static_cast<std::size_t>((longest + unit - 1) / unit * unit);
  for (Sample& sample : samples) {
    const auto end =
        sample.labels.begin() + static_cast<std::ptrdiff_t>(std::min(sample.labels.size(), length));
    D9D_REQUIRE(
        std::all_of(end, sample.labels.end(), [](auto label) { return label == ignored_label; }),
        "batching.cut_to_longest: sample {} has labels after the {} tokens that its source's sort_key() "
        "says; sort_key() has to be its length without what fills it up",
        first + static_cast<std::uint64_t>(&sample - samples.data()), length);
    for (auto* const row : {&sample.input_ids, &sample.labels, &sample.document_starts})
      row->resize(std::min(row->size(), length));
    sample.token_mask.resize(std::min(sample.token_mask.size(), length));
  }
}

bool is_filler(const BatchMaths& maths, std::int64_t data_rank, std::uint64_t step_begin,
               std::int64_t microbatch, std::optional<std::uint64_t> end) {
  return end && maths.first_of_microbatch(step_begin, data_rank, microbatch) >= *end;
}

namespace {

// The sample without labels, and as padding alone.
Sample uncounted(Sample sample) {
  std::ranges::fill(sample.labels, ignored_label);
  sample.token_mask.assign(sample.input_ids.size(), false);
  return sample;
}

}  // namespace

TensorMap read_microbatch(const SampleSource& source, const BatchMaths& maths, std::int64_t data_rank,
                          std::uint64_t step_begin, std::int64_t microbatch, const Collation* collation,
                          std::optional<std::uint64_t> end, RestOfBatch rest) {
  D9D_CHECK(data_rank >= 0 && data_rank < maths.num_data_ranks, "data rank {} of {}", data_rank,
            maths.num_data_ranks);
  std::uint64_t first = maths.first_of_microbatch(step_begin, data_rank, microbatch);
  auto count = static_cast<std::uint64_t>(maths.microbatch_size);
  if (end) {
    first = std::min(first, *end - 1);
    count = std::min(count, *end - first);
  }
  std::vector<Sample> samples;
  samples.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) samples.push_back(source.at(first + i));
  if (maths.cut_unit > 0) cut_to_longest(source, first, maths.cut_unit, samples);
  if (end && rest == RestOfBatch::filled_up) {
    const Sample filling = uncounted(samples.back());
    if (is_filler(maths, data_rank, step_begin, microbatch, end)) samples.back() = filling;
    samples.resize(static_cast<std::size_t>(maths.microbatch_size), filling);
  }
  return collate(samples, collation);
}

}  // namespace d9d
