#include "runtime/tensor/tensor_tree.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {

struct TreeImage {
  at::Tensor pixels;
  std::optional<at::Tensor> mask;
};
BOOST_DESCRIBE_STRUCT(TreeImage, (), (pixels, mask))
struct TreeTokens {
  at::Tensor input_ids;
};
BOOST_DESCRIBE_STRUCT(TreeTokens, (), (input_ids))
struct TreeBatch : TreeTokens {
  TreeImage image;
  std::vector<TreeImage> crops;
  std::map<std::string, at::Tensor> views;
  std::optional<TreeImage> depth;
};
BOOST_DESCRIBE_STRUCT(TreeBatch, (TreeTokens), (image, crops, views, depth))

struct TreeCaption {
  std::string text;
  std::vector<TreeImage> images;
};
BOOST_DESCRIBE_STRUCT(TreeCaption, (), (text, images))

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

at::Tensor number(double value) {
  return at::full({2}, value);
}

bool same(const at::Tensor& tensor, double value) {
  return at::equal(tensor, number(value));
}

std::vector<std::string> names_of(const TensorMap& map) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : map) names.push_back(name);
  return names;
}

TreeBatch batch_of_eleven_crops() {
  TreeBatch batch;
  batch.input_ids = number(1);
  batch.image = {number(2), number(3)};
  for (int i = 0; i < 11; ++i) batch.crops.push_back({number(10 + i), {}});
  batch.views = {{"left", number(4)}, {"left-most", number(5)}};
  return batch;
}

TEST(TensorTree, IsAMapOfTensorsByTheirPaths) {
  TreeBatch batch = batch_of_eleven_crops();
  batch.crops.resize(2);
  batch.crops[1].mask = number(6);

  EXPECT_THAT(names_of(to_tensor_map(batch)),
              ElementsAre("crops/0/pixels", "crops/1/mask", "crops/1/pixels", "image/mask", "image/pixels",
                          "input_ids", "views/left", "views/left-most"));
}

// CORE-34.
TEST(TensorTree, IsReadAsItWasWritten) {
  const TreeBatch read = tree_of<TreeBatch>(to_tensor_map(batch_of_eleven_crops()));

  EXPECT_TRUE(same(read.input_ids, 1));
  EXPECT_TRUE(same(read.image.pixels, 2));
  ASSERT_TRUE(read.image.mask);
  EXPECT_TRUE(same(*read.image.mask, 3));
  ASSERT_EQ(read.crops.size(), 11U);
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_TRUE(same(read.crops[i].pixels, 10.0 + static_cast<double>(i)));
    EXPECT_FALSE(read.crops[i].mask);
  }
  ASSERT_EQ(read.views.size(), 2U);
  EXPECT_TRUE(same(read.views.at("left-most"), 5));
  EXPECT_FALSE(read.depth);
}

TEST(TensorTree, LeavesOtherTensorsAside) {
  TensorMap map = to_tensor_map(batch_of_eleven_crops());
  map["labels"] = number(7);
  map["imagery"] = number(8);

  EXPECT_TRUE(same(tree_of<TreeBatch>(map).image.pixels, 2));
}

TEST(TensorTree, NamesWhatIsMissing) {
  TensorMap map = to_tensor_map(batch_of_eleven_crops());
  map.erase("image/pixels");
  EXPECT_THAT(test::error_of([&] { tree_of<TreeBatch>(map); }, ErrorKind::input),
              HasSubstr("the batch has no tensor \"image/pixels\"; it has: crops/0/pixels"));

  map = to_tensor_map(batch_of_eleven_crops());
  map["depth/mask"] = number(1);
  EXPECT_THAT(test::error_of([&] { tree_of<TreeBatch>(map, "my batch"); }, ErrorKind::input),
              HasSubstr("my batch has no tensor \"depth/pixels\""));
}

TEST(TensorTree, LosesNothingSilently) {
  const auto refusal = [](const TreeBatch& batch) {
    return test::error_of([&] { to_tensor_map(batch); }, ErrorKind::input);
  };
  TreeBatch batch = batch_of_eleven_crops();
  batch.crops[3].pixels = at::Tensor();
  EXPECT_THAT(refusal(batch), HasSubstr("the tensor crops/3/pixels of a tree has no values"));
  batch = batch_of_eleven_crops();
  batch.views["left/most"] = number(1);
  EXPECT_THAT(refusal(batch),
              HasSubstr("has the name \"left/most\"; give one that is not empty and without /"));

  const std::vector<std::optional<at::Tensor>> holes{number(1), std::nullopt, number(2)};
  TensorMap map;
  EXPECT_THAT(
      test::error_of(
          [&] { tensor_tree::Branch<std::vector<std::optional<at::Tensor>>>::write(holes, "x", map); },
          ErrorKind::input),
      HasSubstr("x/1 of a tree of tensors has no tensors, so that it would be lost"));
}

TEST(TensorTree, HasTextsAndBytesAmongItsLeaves) {
  const std::string bytes("a\0\xff", 3);
  const TensorMap map = to_tensor_map(TreeCaption{bytes, {}});

  EXPECT_EQ(map.at("text").scalar_type(), at::kByte);
  EXPECT_EQ(map.at("text").sizes(), at::IntArrayRef({3}));
  EXPECT_EQ(tree_of<TreeCaption>(map).text, bytes);
  EXPECT_EQ(tree_of<TreeCaption>(to_tensor_map(TreeCaption{})).text, "");
  EXPECT_THAT(test::error_of([] {
                tree_of<TreeCaption>({{"text", number(1)}});
              }),
              HasSubstr("text of the batch is a Float tensor of 1 dimensions, expected a text: uint8 [n]"));
}

// CORE-34.
TEST(TensorTree, ShowsItsLeavesByPathAndOnlyThoseOfATypeThatIsTaken) {
  const TreeCaption caption{"words", {{number(1), {}}, {number(2), number(3)}}};
  std::vector<std::string> tensors, texts;

  for_each_leaf(caption, [&](const std::string& path, const at::Tensor&) { tensors.push_back(path); });
  for_each_leaf(caption,
                [&](const std::string& path, const std::string& text) { texts.push_back(path + text); });

  EXPECT_THAT(tensors, ElementsAre("images/0/pixels", "images/1/pixels", "images/1/mask"));
  EXPECT_THAT(texts, ElementsAre("textwords"));
}

// CORE-34.
TEST(TensorTree, IsMappedToATreeOfTheSameForm) {
  const TreeCaption caption{"words", {{number(1), number(3)}}};

  const TreeCaption twice = map_tensors(caption, [](const at::Tensor& tensor) { return tensor.mul(2); });

  EXPECT_EQ(twice.text, "words");
  EXPECT_TRUE(same(twice.images.at(0).pixels, 2));
  EXPECT_TRUE(same(*twice.images[0].mask, 6));
  EXPECT_TRUE(same(caption.images[0].pixels, 1)) << "the tree itself stays";
}

}  // namespace
}  // namespace d9d
