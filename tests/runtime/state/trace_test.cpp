// A traced slice equals the same slice of the applied group, for every mapper and for random graphs of them.
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/reshape.hpp"
#include "runtime/state/mapper/stack.hpp"
#include "tests/runtime/state/expect.hpp"

namespace d9d {
namespace {

using test::counting;
using test::same;

// Cuts the pieces out of the inputs and puts them together; elements that no piece fills stay -1.
at::Tensor assembled(const Pieces& pieces, const Slice& wanted, const TensorMap& inputs) {
  at::Tensor result = at::full(wanted.shape(), -1, at::TensorOptions(at::kFloat));
  for (const auto& piece : pieces)
    slice_view(result, relative_to(piece.to, wanted))
        .copy_(view_of(piece, slice_view(inputs.at(piece.input), piece.from)));
  return result;
}

Slice random_slice(const at::Tensor& tensor, const RandomStream& random, std::uint64_t& draw) {
  Slice slice = whole(tensor.sizes().vec());
  for (std::size_t d = 0; d < slice.begin.size(); ++d) {
    const auto size = static_cast<std::uint64_t>(slice.end[d]);
    slice.begin[d] = static_cast<std::int64_t>(random.below(draw++, size + 1));
    slice.end[d] = slice.begin[d] + static_cast<std::int64_t>(random.below(
                                        draw++, size + 1 - static_cast<std::uint64_t>(slice.begin[d])));
  }
  return slice;
}

void expect_traces_equal_apply(const StateMapper& mapper, const TensorMap& all, const RandomStream& random,
                               std::uint64_t& draw) {
  for (const auto& group : mapper.groups()) {
    TensorMap inputs;
    for (const auto& name : group.inputs) inputs[name] = all.at(name);
    for (const auto& [name, tensor] : mapper.apply(inputs))
      for (int round = 0; round < 4; ++round) {
        const auto wanted = round == 0 ? whole(tensor.sizes().vec()) : random_slice(tensor, random, draw);
        const auto pieces = mapper.trace(name, wanted, inputs);
        ASSERT_TRUE(pieces.has_value());
        ASSERT_TRUE(same(assembled(*pieces, wanted, inputs), slice_view(tensor, wanted)))
            << name << "@" << to_text(wanted);
      }
  }
}

TEST(MapperTrace, OfEachLeafEqualsApply) {
  const RandomStream random(1, "trace leaves");
  std::uint64_t draw = 0;
  const TensorMap all{
      {"a", counting({2, 3, 1})}, {"b", counting({2, 3, 1}) + 100}, {"c", counting({2, 4, 1}) + 200}};

  for (const auto& mapper :
       {identity("a"), rename("b", "z"), stack({"b", "a"}, "z", 1), stack({"a", "b"}, "z", -1),
        unstack("a", {"p", "q"}, 0), unstack("a", {"p", "q", "r"}, 1), chunk("c", {"p", "q", "r", "s"}, 1),
        chunk("b", {"p", "q"}, -2), concatenate({"b", "c", "a"}, "z", 1), transpose("a", 0, 1),
        transpose("a", -1, 0), squeeze("a"), squeeze("a", -1), squeeze("a", 0), unsqueeze("a", 0),
        unsqueeze("a", -1)})
    expect_traces_equal_apply(*mapper, all, random, draw);
}

// A random chain: each stage takes some of the live names, does something to them and names the result anew.
class Chain {
 public:
  explicit Chain(std::uint64_t seed) : random_(seed, "random mapper graph") {
    for (int i = 0; i < 4; ++i) live_[fmt::format("in{}", i)] = counting({2, 3, 4}) + 100 * i;
    inputs_ = live_;
  }

  MapperPtr build(int num_stages) {
    std::vector<MapperPtr> stages;
    for (int i = 0; i < num_stages; ++i) stages.push_back(stage());
    return sequential(std::move(stages));
  }

  const TensorMap& inputs() const { return inputs_; }
  const RandomStream& random() const { return random_; }
  std::uint64_t& draw() { return draw_; }

 private:
  std::uint64_t pick(std::uint64_t bound) { return random_.below(draw_++, bound); }
  std::string fresh() { return fmt::format("t{}", next_++); }

  std::pair<std::string, at::Tensor> any() {
    auto it = live_.begin();
    std::advance(it, pick(live_.size()));
    return *it;
  }

  MapperPtr stage() {
    const auto mapper = leaf();
    TensorMap given;
    for (const auto& name : inputs_of(*mapper)) given[name] = live_.at(name);
    for (const auto& [name, tensor] : given) live_.erase(name);
    live_.merge(mapper->apply(given));
    return mapper;
  }

  MapperPtr leaf() {
    const auto [name, tensor] = any();
    const auto dims = static_cast<std::uint64_t>(tensor.dim());
    const auto dim = dims == 0 ? 0 : static_cast<std::int64_t>(pick(dims));
    const auto size = dims == 0 ? 0 : tensor.size(dim);
    std::vector<std::string> alike;
    for (const auto& [other, candidate] : live_)
      if (candidate.sizes() == tensor.sizes()) alike.push_back(other);
    switch (pick(7)) {
      case 0:
        return stack(alike, fresh(), static_cast<std::int64_t>(pick(dims + 1)));
      case 1:
        return dims == 0 ? rename(name, fresh()) : concatenate(alike, fresh(), dim);
      case 2:
        return dims == 0 || size == 0 ? identity(name) : unstack(name, names(size), dim);
      case 3:
        return size < 2 ? identity(name) : chunk(name, names(2), dim);
      case 4:
        return dims == 0 ? identity(name) : transpose(name, dim, static_cast<std::int64_t>(pick(dims)));
      case 5:
        return unsqueeze(name, static_cast<std::int64_t>(pick(dims + 1)));
      default:
        return squeeze(name);
    }
  }

  std::vector<std::string> names(std::int64_t count) {
    std::vector<std::string> made;
    for (std::int64_t i = 0; i < count; ++i) made.push_back(fresh());
    return made;
  }

  RandomStream random_;
  std::uint64_t draw_ = 0;
  int next_ = 0;
  TensorMap live_;
  TensorMap inputs_;
};

TEST(MapperTrace, OfRandomGraphsEqualsApply) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Chain chain(seed);
    const auto mapper = prefix_scope(parallel({chain.build(1 + static_cast<int>(seed % 7))}), "", "made.");
    TensorMap inputs;
    for (const auto& name : inputs_of(*mapper)) inputs[name] = chain.inputs().at(name);

    expect_traces_equal_apply(*mapper, inputs, chain.random(), chain.draw());
    for (const int share : {0, 1})
      expect_traces_equal_apply(*shard(mapper, 2, share), inputs, chain.random(), chain.draw());
    if (HasFatalFailure()) return;
  }
}

// Values, not places: cannot be traced.
class Doubled final : public StateMapper {
 public:
  Doubled() : StateMapper({{{"x"}, {"x"}}}) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    return {{"x", inputs.at("x") * 2}};
  }
};

TEST(MapperTrace, IsNothingWhenAMapperOnTheWayComputesValues) {
  const auto mapper = sequential({std::make_shared<Doubled>(), rename("x", "y")});
  const TensorMap inputs{{"x", counting({2})}};

  EXPECT_FALSE(mapper->trace("y", Slice{{0}, {1}}, inputs).has_value());
  EXPECT_TRUE(same(mapper->apply(inputs).at("y"), counting({2}) * 2));
}

}  // namespace
}  // namespace d9d
