// A load accounts for every tensor, before it reads any.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/runtime/state/model/model_support.hpp"

namespace d9d {
namespace {

using test::counting;
using test::error_of;
using test::Scratch;
using test::write_folder;
using testing::HasSubstr;

class StrictLoad : public testing::Test {
 protected:
  std::string error_of_load(const MapperPtr& mapper, const TensorMap& destinations,
                            const LoadOptions& options = {}) {
    return error_of([&] { load_model_state(disk_, scratch_.path(), mapper, destinations, options); });
  }

  const Scratch scratch_;
  test::QuickDisk disk_;
};

TEST_F(StrictLoad, NamesTensorsOfTheFilesThatNobodyConsumes) {
  const TensorMap state{{"a", counting({2})}, {"b", counting({2})}, {"old.inv_freq", counting({2})}};
  write_folder(disk_, scratch_.path(), state);
  const TensorMap wanted{{"a", at::zeros({2})}};

  EXPECT_THAT(error_of_load(identities({"a"}), wanted), HasSubstr("\"b\", \"old.inv_freq\""));
  EXPECT_THAT(error_of_load(identities({"a"}), wanted, {.allow_unread = {"*.inv_freq"}}),
              HasSubstr("use: \"b\""));
  EXPECT_EQ(wanted.at("a").sum().item<float>(), 0);
  load_model_state(disk_, scratch_.path(), identities({"a"}), wanted, {.allow_unread = {"*.inv_freq", "b"}});
  EXPECT_EQ(wanted.at("a").sum().item<float>(), 1);
}

TEST_F(StrictLoad, NamesInputsThatTheFilesLack) {
  write_folder(disk_, scratch_.path(), {{"a", counting({2})}});
  const TensorMap wanted{{"a", at::zeros({2})}, {"b", at::zeros({2})}};

  const auto text = error_of_load(identities({"a", "b"}), wanted);

  EXPECT_THAT(text, testing::AllOf(HasSubstr("lacks"), HasSubstr("\"b\"")));
  EXPECT_EQ(wanted.at("a").sum().item<float>(), 0);
}

TEST_F(StrictLoad, NamesParametersThatNobodyProduces) {
  write_folder(disk_, scratch_.path(), {{"a", counting({2})}});

  EXPECT_THAT(error_of_load(identities({"a"}), {{"a", at::zeros({2})}, {"head", at::zeros({2})}}),
              HasSubstr("\"head\""));
}

TEST_F(StrictLoad, NamesOutputsThatHaveNoParameterUnlessThisIsAPart) {
  write_folder(disk_, scratch_.path(), {{"a", counting({2})}, {"b", counting({2})}});
  const TensorMap wanted{{"a", at::zeros({2})}};

  EXPECT_THAT(error_of_load(identities({"a", "b"}), wanted),
              HasSubstr("1 tensor without a parameter: \"b\""));
  EXPECT_NO_THROW(
      load_model_state(disk_, scratch_.path(), identities({"a", "b"}), wanted, {.part_of_model = true}));
}

TEST_F(StrictLoad, NamesTheParameterWhoseShapeDiffers) {
  write_folder(disk_, scratch_.path(), {{"a", counting({2, 3})}});

  EXPECT_THAT(error_of_load(identities({"a"}), {{"a", at::zeros({3, 2})}}),
              testing::AllOf(HasSubstr("\"a\" has shape [3, 2]"), HasSubstr("gives [2, 3]")));
}

TEST_F(StrictLoad, SaysWhatAFolderWithoutWeightsLacks) {
  EXPECT_THAT(error_of_load(identities({"a"}), {{"a", at::zeros({2})}}),
              testing::AllOf(HasSubstr("model.safetensors.index.json"), HasSubstr("Hugging Face")));
}

TEST_F(StrictLoad, TheCheckAheadSaysWhatTheLoadWouldSay) {
  write_folder(disk_, scratch_.path(), {{"a", counting({2, 3})}, {"b", counting({2})}});
  const auto error_of_check = [&](const Names& names, const std::map<std::string, Shape>& wanted) {
    return error_of([&] { check_model_state(disk_, scratch_.path(), identities(names), wanted); });
  };
  const auto error_of_both = [&](const Names& names, const std::map<std::string, Shape>& wanted) {
    TensorMap tensors;
    for (const auto& [name, shape] : wanted) tensors[name] = at::zeros(shape);
    EXPECT_EQ(error_of_check(names, wanted), error_of_load(identities(names), tensors));
    return error_of_check(names, wanted);
  };

  EXPECT_THAT(error_of_both({"a", "b"}, {{"a", {3, 2}}, {"b", {2}}}), HasSubstr("\"a\" has shape [3, 2]"));
  EXPECT_THAT(error_of_both({"a"}, {{"a", {2, 3}}}), HasSubstr("\"b\"; is it another model?"));
  EXPECT_THAT(error_of_both({"a", "b", "c"}, {{"a", {2, 3}}, {"b", {2}}, {"c", {1}}}), HasSubstr("lacks"));
  EXPECT_THAT(error_of_both({"a", "b"}, {{"a", {2, 3}}}), HasSubstr("1 tensor without a parameter: \"b\""));
  EXPECT_NO_THROW(
      check_model_state(disk_, scratch_.path(), identities({"a", "b"}), {{"a", {2, 3}}, {"b", {2}}}));
}

TEST_F(StrictLoad, RefusesAnIndexThatDoesNotFitItsShards) {
  write_folder(disk_, scratch_.path(), {{"a", counting({100})}, {"b", counting({100})}}, 400);
  const auto index = scratch_ / "model.safetensors.index.json";
  const auto good = read_text(disk_, index, 10000);
  const auto replaced = [&](std::string from, const std::string& to) {
    auto text = good;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(index) << text;
    return error_of_load(identities({"a", "b"}), {{"a", at::zeros({100})}, {"b", at::zeros({100})}});
  };

  EXPECT_THAT(replaced("\"b\": \"model-00002", "\"c\": \"model-00002"),
              HasSubstr("\"c\" lies in model-00002-of-00002"));
  for (const char* outside :
       {"\"../model-00002", "\"/model-00002", "\"a/../../model-00002", "\"a//model-00002"})
    EXPECT_THAT(replaced("\"model-00002", outside), HasSubstr("no path to a file below the folder"));
  std::filesystem::create_directory(scratch_ / "inner");
  std::filesystem::rename(scratch_ / "model-00002-of-00002.safetensors",
                          scratch_ / "inner/model-00002-of-00002.safetensors");
  EXPECT_EQ(replaced("\"model-00002", "\"inner/model-00002"), "no error");
  EXPECT_THAT(replaced("model-00002", "model-00009"), HasSubstr("model-00009"));
  EXPECT_THAT(replaced("weight_map", "weights"), HasSubstr("not an index"));
  EXPECT_THAT(replaced("{", "["), HasSubstr("not an index"));
}

TEST_F(StrictLoad, ExportAccountsForEveryTensorToo) {
  const auto path = scratch_.path();
  const auto write = [&](const MapperPtr& mapper, const TensorMap& state) {
    return error_of([&] { test::write_share(disk_, path, mapper, state, {.shard_bytes_max = 100}); });
  };
  const TensorMap state{{"a", counting({2})}, {"b", counting({2})}};

  EXPECT_THAT(write(identities({"a"}), state),
              HasSubstr("1 tensor without a place in the exported model: \"b\""));
  EXPECT_THAT(write(identities({"a", "b", "c"}), state), HasSubstr("1 more tensor: \"c\""));
  ModelWriter writer(disk_, path, stack({"a", "b"}, "x", 0), test::specs_of(state));
  writer.put("a", state.at("a"));
  EXPECT_THAT(error_of([&] { writer.put("a", state.at("a")); }), HasSubstr("comes twice"));
  EXPECT_THAT(error_of([&] { writer.put("b", counting({3})); }), HasSubstr("announced as F32 [2]"));
  EXPECT_THAT(error_of([&] { writer.finish(); }), HasSubstr("\"b\""));
}

}  // namespace
}  // namespace d9d
