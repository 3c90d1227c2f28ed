#include "runtime/state/convert/conversion_queue.hpp"

#include "tests/runtime/state/held_tensors.hpp"
#include "tests/runtime/state/model/model_support.hpp"

namespace d9d {
namespace {

using test::counting;

class ConversionQueues : public testing::Test {
 protected:
  // "a" and "b" as they are; of "c" the two halves.
  ConversionQueue::Item item(const char* input, const std::vector<const char*>& outputs, Shape shape) {
    for (const auto& group : mapper_->groups()) {
      if (!group.inputs.contains(input)) continue;
      ConversionQueue::Item item{&group, {}};
      for (const char* output : outputs) item.outputs.push_back({output, Dtype::float32, shape});
      return item;
    }
    throw Error(ErrorKind::bug, "no group has that input");
  }
  // "output@first value", or the first input of a group that is handed out as a whole.
  static std::string name_of(const ConversionPiece& piece) {
    if (piece.is_whole_group()) return "group of " + *piece.group->inputs.begin();
    return fmt::format("{}@{}", piece.output.name, first_value(piece.box, piece.output.shape));
  }
  std::vector<std::string> all(std::vector<ConversionQueue::Item> items) {
    ConversionQueue queue(source_, *mapper_, std::move(items), 24);
    std::vector<std::string> names;
    while (const auto piece = queue.next()) names.push_back(name_of(*piece));
    return names;
  }

  const MapperPtr mapper_ = parallel({identity("a"), identity("b"), chunk("c", {"c0", "c1"}, 0)});
  test::HeldTensors source_{{{"a", counting({5, 3})}, {"b", counting({2})}, {"c", counting({8})}}};
};

TEST_F(ConversionQueues, HandOutBoxesInTheOrderOfTheItems) {
  EXPECT_THAT(all({item("c", {"c0", "c1"}, {4}), item("a", {"a"}, {5, 3}), item("b", {}, {2})}),
              testing::ElementsAre("c0@0", "c1@0", "a@0", "a@6", "a@12"));
}

TEST_F(ConversionQueues, HandOutAGroupAsAWholeWhereNoBoxCanBeRead) {
  source_.whole_only = "c";

  EXPECT_THAT(all({item("b", {"b"}, {2}), item("c", {"c1"}, {4})}),
              testing::ElementsAre("b@0", "group of c"));
}

TEST_F(ConversionQueues, AreEmptyOnceTheyAreCancelled) {
  ConversionQueue queue(source_, *mapper_, {item("a", {"a"}, {5, 3}), item("b", {"b"}, {2})}, 24);
  EXPECT_TRUE(queue.next());

  queue.cancel();

  EXPECT_FALSE(queue.next());
}

}  // namespace
}  // namespace d9d
