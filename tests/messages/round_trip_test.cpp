// What is written is what is read, for every message.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <thread>

#include "messages/cluster.capnp.h"
#include "messages/lists.hpp"
#include "messages/train.capnp.h"
#include "tests/messages/every_message.hpp"

namespace d9d {
namespace {

using test::dump;
using test::every_message;

std::set<std::string> structs_of_the_schemas() {
  std::set<std::string> names;
  const std::regex declaration(R"(^struct (\w+) \{)");
  for (const auto& file : std::filesystem::directory_iterator(D9D_SOURCE_DIR "/messages")) {
    if (file.path().extension() != ".capnp") continue;
    std::ifstream in(file.path());
    std::smatch match;
    for (std::string line; std::getline(in, line);) {
      if (std::regex_search(line, match, declaration)) names.insert(match[1]);
    }
  }
  names.erase("Envelope");  // what every message is wrapped in
  return names;
}

TEST(Messages, TheListOfTheseTestsNamesEveryStructOfTheSchemas) {
  std::set<std::string> listed;
  for (const auto& kind : every_message()) listed.insert(kind.name);

  EXPECT_EQ(listed, structs_of_the_schemas());
}

TEST(Messages, TypesAreUnique) {
  std::set<std::uint64_t> types;
  for (const auto& kind : every_message()) types.insert(kind.type);

  EXPECT_EQ(types.size(), every_message().size());
}

TEST(Messages, EveryFieldOfEveryMessageComesBackAsItWasWritten) {
  for (const auto& kind : every_message()) {
    SCOPED_TRACE(kind.name);
    const Frame frame = kind.encode(test::sample_header());

    const Frame arrived = Frame::from_bytes(frame.bytes(), frame.size_bytes());
    const Decoded decoded(arrived);

    EXPECT_EQ(decoded.type(), kind.type);
    const std::string text = dump(decoded, kind);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0);
    for (const auto field : kind.schema.getFields()) {
      // Of a union the last field that was written is there.
      if (field.getProto().getDiscriminantValue() != capnp::schema::Field::NO_DISCRIMINANT) continue;
      const unsigned ordinal = field.getProto().getOrdinal().getExplicit();
      EXPECT_NE(text.find("@" + std::to_string(ordinal) + "="), std::string::npos) << text;
    }
  }
}

TEST(Messages, TheHeaderSurvivesTheWay) {
  const Header sent = test::sample_header();
  const Frame frame = encode<wire::Stop>(sent, [](wire::Stop::Builder stop) { stop.setReason("enough"); });

  const Frame arrived = Frame::from_bytes(frame.bytes(), 4096);
  const Decoded decoded(arrived);

  const Header got = decoded.header();
  EXPECT_EQ(got.epoch, sent.epoch);
  EXPECT_EQ(got.sender, sent.sender);
  EXPECT_EQ(got.receiver, sent.receiver);
  EXPECT_EQ(got.sequence, sent.sequence);
  EXPECT_EQ(got.send_time_ns, sent.send_time_ns);
  EXPECT_EQ(got.flow, sent.flow);
  EXPECT_EQ(peek_header(frame).receiver, sent.receiver);
}

TEST(Messages, NumbersTextAndListsKeepTheirValues) {
  const Frame frame = encode<wire::Welcome>({}, [](wire::Welcome::Builder welcome) {
    welcome.setResumeSample(0xFFFFFFFFFFFFFFFFULL);
    welcome.setResumeState("{\"a\": \"\xC3\xA4\"}");
    auto nodes = welcome.initNodes(300);
    for (unsigned i = 0; i < nodes.size(); ++i) nodes[i].setRanks(i);
  });

  const Decoded decoded(frame);

  const auto body = decoded.body<wire::Welcome>();
  EXPECT_EQ(body.getResumeSample(), 0xFFFFFFFFFFFFFFFFULL);
  EXPECT_EQ(std::string(body.getResumeState()), "{\"a\": \"\xC3\xA4\"}");
  EXPECT_EQ(body.getNodes().size(), 300U);
  EXPECT_EQ(body.getNodes()[299].getRanks(), 299U);
}

TEST(Messages, ListsOfNumbersTurnIntoVectorsAndBack) {
  const std::vector<double> values{0.25, -1e300, 0};
  const Frame frame = encode<wire::ReduceValues>(
      {}, [&](wire::ReduceValues::Builder reduce) { fill_list(reduce.initValues(3), values); });

  const Decoded decoded(frame);

  EXPECT_EQ(to_vector<double>(decoded.body<wire::ReduceValues>().getValues()), values);
}

TEST(Messages, OneFrameIsReadByManyThreadsAtOnce) {
  const Frame frame = every_message().front().encode(test::sample_header());
  const std::string expected = dump(Decoded(frame), every_message().front());
  std::vector<std::string> read(4);

  std::vector<std::thread> threads;
  for (std::string& mine : read) {
    threads.emplace_back([&] { mine = dump(Decoded(frame), every_message().front()); });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(read, std::vector<std::string>(4, expected));
}

}  // namespace
}  // namespace d9d
