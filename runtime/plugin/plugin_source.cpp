#include "runtime/plugin/plugin_source.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {

PluginSource::PluginSource(std::string name, std::shared_ptr<const SampleSource> inner,
                           std::optional<std::int64_t> ids_below, bool lengths_vary)
    : name_(std::move(name)), inner_(std::move(inner)), ids_below_(ids_below), lengths_vary_(lengths_vary) {
  D9D_REQUIRE(inner_ != nullptr, "data: the factory of the data source \"{}\" made none", name_);
  call_user(fmt::format("the data source \"{}\"", name_), ErrorInside::is_named, [&] {
    num_samples_ = inner_->num_samples();
    sequence_length_ = inner_->sequence_length();
  });
  D9D_REQUIRE(
      sequence_length_ >= 1 && num_samples_ != std::uint64_t{0},
      "data: the source \"{}\" says that it has {} samples of {} tokens; expected at least one of each",
      name_, num_samples_ ? std::to_string(*num_samples_) : "any number of", sequence_length_);
}

Sample PluginSource::at(std::uint64_t index) const {
  Sample sample = call_user(fmt::format("sample {} of the data source \"{}\"", index, name_),
                            ErrorInside::is_named, [&] { return inner_->at(index); });
  check(sample, index);
  return sample;
}

std::optional<std::int64_t> PluginSource::sort_key(std::uint64_t index) const {
  return call_user(fmt::format("the length of sample {} of the data source \"{}\"", index, name_),
                   ErrorInside::is_named, [&] { return inner_->sort_key(index); });
}

void PluginSource::check(const Sample& sample, std::uint64_t index) const {
  const auto length = static_cast<std::size_t>(sequence_length_);
  const auto fits = [&](std::size_t size) { return lengths_vary_ ? size <= length : size == length; };
  D9D_REQUIRE(
      fits(sample.input_ids.size()) && fits(sample.labels.size()),
      "sample {} of the data source \"{}\" has {} inputs and {} labels, but the source says that each has "
      "{}{}; fill them up with labels of {}",
      index, name_, sample.input_ids.size(), sample.labels.size(), lengths_vary_ ? "at most " : "", length,
      ignored_label);
  const auto is_id = [&](std::int64_t id) { return id >= 0 && (!ids_below_ || id < *ids_below_); };
  const auto is_label = [&](std::int64_t label) { return label == ignored_label || is_id(label); };
  const std::string limit = ids_below_ ? fmt::format(" and less than {}", *ids_below_) : "";
  const auto id = std::ranges::find_if_not(sample.input_ids, is_id);
  D9D_REQUIRE(id == sample.input_ids.end(),
              "sample {} of the data source \"{}\" holds the token {}, expected at least 0{}", index, name_,
              *id, limit);
  const auto label = std::ranges::find_if_not(sample.labels, is_label);
  D9D_REQUIRE(label == sample.labels.end(),
              "sample {} of the data source \"{}\" holds the label {}, expected {} or at least 0{}", index,
              name_, *label, ignored_label, limit);
}

}  // namespace d9d
