// What the headers of actors and the schemas say about themselves must be what the code does.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

std::string joined(const Source& source, bool (*keep)(const std::string&)) {
  std::string text;
  for (const std::string& line : source.lines) {
    if (keep(line)) text += line + "\n";
  }
  return text;
}

// The comment a header begins with, as one line.
std::string contract_of(const Source& header) {
  std::string text;
  for (const std::string& line : header.lines) {
    if (line.starts_with("#pragma")) continue;
    if (!line.starts_with("//")) break;
    text += line.substr(2) + " ";
  }
  return text;
}

// CamelCase words between two marks of the contract.
Names names_between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string::npos) return {};
  const std::size_t end = to.empty() ? std::string::npos : text.find(to, begin);
  const std::string part = text.substr(begin + from.size(), end - begin - from.size());
  Names names;
  const std::regex word(R"([A-Z]\w+)");
  for (std::sregex_iterator at(part.begin(), part.end(), word), none; at != none; ++at)
    names.insert(at->str());
  return names;
}

Names all_matches(const std::string& text, const std::string& pattern) {
  Names names;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), none; at != none; ++at)
    names.insert((*at)[1].str());
  return names;
}

// The message of each handler that behavior() lists, read off its declaration.
Names heard_in(const std::string& header, const std::string& code) {
  Names names;
  for (const std::string& handler :
       all_matches(code, R"(handlers\.on(?:_any_epoch)?\(this, &\w+::(\w+)\))")) {
    const Names type = all_matches(header, "void " + handler + R"(\(wire::(\w+)::Reader)");
    EXPECT_EQ(type.size(), 1U) << "no declaration of handler " << handler;
    names.insert(type.begin(), type.end());
  }
  return names;
}

// Trainer and Inferrer share a base that is an actor, too.
std::vector<const Source*> actor_headers() {
  static const std::regex actor(R"( final : public (Actor|StepLoop)\b)");
  std::vector<const Source*> headers;
  for (const Source* source : sources_under({"actors"})) {
    if (!source->is_header()) continue;
    for (const std::string& line : source->lines) {
      if (std::regex_search(line, actor)) headers.push_back(source);
    }
  }
  return headers;
}

bool any(const std::string&) {
  return true;
}

// coordinator.hpp -> the text of coordinator.cpp and of its parts, coordinator_end.cpp for example.
std::string code_of_actor(const Source& header) {
  const std::string stem = header.path.substr(0, header.path.rfind('.'));
  const std::string directive = "#include \"" + header.path + "\"";
  std::string text;
  for (const Source* source : sources_under({"actors"})) {
    const bool part = source->path == stem + ".cpp" || source->path.starts_with(stem + "_");
    const auto& lines = source->lines;
    if (!part || !source->is_cpp() || std::find(lines.begin(), lines.end(), directive) == lines.end())
      continue;
    text += joined(*source, any);
  }
  EXPECT_NE(text, "") << header.path << " has no .cpp";
  return text;
}

TEST(Actors, HearsAndSaysOfTheHeaderAreWhatTheCodeDoes) {
  ASSERT_GE(actor_headers().size(), 13U);
  for (const Source* header : actor_headers()) {
    const std::string contract = contract_of(*header);
    std::string declared = joined(*header, any), text = code_of_actor(*header);
    if (declared.find(" : public StepLoop") != std::string::npos) {
      const Source& base = *find_source("actors/loop/step_loop.hpp");
      declared += joined(base, any);
      text += code_of_actor(base);
    }
    text += declared;

    EXPECT_EQ(names_between(contract, "hears", "says"), heard_in(declared, text))
        << header->path << ": let its first comment say what behavior() lists";
    EXPECT_EQ(names_between(contract, "says", ""), all_matches(text, R"(tell(?:_via)?<wire::(\w+)>)"))
        << header->path << ": let its first comment say what the code tells";
  }
}

// "Node (process) | pool | Join Tick | Ready" of the table of actors/README.md, by the actor's name.
std::map<std::string, std::vector<std::string>> cast_table() {
  std::map<std::string, std::vector<std::string>> rows;
  std::ifstream in(std::string(D9D_SOURCE_DIR) + "/actors/README.md");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    std::istringstream rest(line.substr(1));
    for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(cell);
    rows[cells[0].substr(1, cells[0].find(' ', 1) - 1)] = cells;
  }
  return rows;
}

TEST(Actors, TheTableOfTheReadmeIsWhatTheHeadersSay) {
  const auto table = cast_table();
  for (const Source* header : actor_headers()) {
    const std::string contract = contract_of(*header);
    const std::string name =
        *all_matches(joined(*header, any), R"(class (\w+) final : public (?:Actor|StepLoop))").begin();
    ASSERT_TRUE(table.contains(name)) << "actors/README.md: a row for " << name << " is missing";
    ASSERT_GE(table.at(name).size(), 4U) << name;

    EXPECT_EQ(names_between(table.at(name)[2], "", ""), names_between(contract, "hears", "says"))
        << "actors/README.md: what " << name << " hears";
    EXPECT_EQ(names_between(table.at(name)[3], "", ""), names_between(contract, "says", ""))
        << "actors/README.md: what " << name << " says";
  }
}

TEST(Messages, EveryOneIsHeardBySomebodyAndSaidBySomebody) {
  Names heard, said;
  for (const Source* header : actor_headers()) {
    const std::string contract = contract_of(*header);
    heard.merge(names_between(contract, "hears", "says"));
    said.merge(names_between(contract, "says", ""));
  }
  said.merge(Names{"Dialed", "PeerDown", "Signalled", "Tick"});  // the host's, timers, the process
  heard.merge(Names{"Stop", "Event", "TextsGenerated"});         // every actor's; users' actors'
  said.merge(Names{"Subscribe", "RollBack", "RecordValue", "EventsHeard", "EndJob", "EventsFollowed",
                   "ScaleLearningRate"});  // users' actors'
  for (const Source* schema : sources_under({"messages"})) {
    if (!schema->path.ends_with(".capnp")) continue;
    for (const std::string& name : all_matches(joined(*schema, any), R"((?:^|\n)struct (\w+) \{)")) {
      if (name == "Envelope") continue;
      EXPECT_TRUE(heard.contains(name)) << schema->path << ": nobody hears " << name;
      EXPECT_TRUE(said.contains(name)) << schema->path << ": nobody says " << name;
    }
  }
}

TEST(Messages, EveryOneIsAmongTheTestedAndHasItsFirstBytes) {
  const Source* every = find_source("tests/messages/every_message.cpp");
  ASSERT_NE(every, nullptr);
  const Names tested = all_matches(joined(*every, any), R"(\b([A-Z]\w+)\b)");
  for (const Source* schema : sources_under({"messages"})) {
    if (!schema->path.ends_with(".capnp")) continue;
    for (const std::string& name : all_matches(joined(*schema, any), R"((?:^|\n)struct (\w+) \{)")) {
      if (name == "Envelope") continue;
      EXPECT_TRUE(tested.contains(name)) << "add " << name << " to every_message() in " << every->path;
      EXPECT_TRUE(
          std::filesystem::exists(std::string(D9D_SOURCE_DIR) + "/tests/golden/messages/" + name + ".bin"))
          << "write the first bytes of " << name << ": D9D_GOLDEN_WRITE=1 test_golden_messages";
    }
  }
}

TEST(Messages, EveryStructSaysWhoTellsWhomAndWhen) {
  for (const Source* schema : sources_under({"messages"})) {
    if (!schema->path.ends_with(".capnp")) continue;
    for (std::size_t i = 0; i < schema->lines.size(); ++i) {
      const std::string& line = schema->lines[i];
      if (!line.starts_with("struct ")) continue;
      const std::string comment = i + 1 < schema->lines.size() ? schema->lines[i + 1] : "";
      EXPECT_TRUE(comment.starts_with("  # ")) << schema->path << ": " << line << " has no comment";
      EXPECT_TRUE(comment.find("->") != std::string::npos || line.starts_with("struct Envelope "))
          << schema->path << ": " << line << " does not say sender -> receiver";
    }
  }
}

// The comment under "struct Name {", as one line.
std::string comment_under(const Source& schema, std::size_t line) {
  std::string text;
  for (std::size_t i = line + 1; i < schema.lines.size() && schema.lines[i].starts_with("  # "); ++i) {
    text += schema.lines[i].substr(3);
  }
  return text;
}

TEST(Messages, EveryStructSaysItsReplyAndWhatARepeatDoes) {
  const std::regex reply(R"(\b[Rr]epl(y|ies)\b)");
  const std::regex repeat(R"(\b([Rr]epeated|second one|[Oo]nce)\b)");
  for (const Source* schema : sources_under({"messages"})) {
    if (!schema->path.ends_with(".capnp")) continue;
    for (std::size_t i = 0; i < schema->lines.size(); ++i) {
      const std::string& line = schema->lines[i];
      if (!line.starts_with("struct ") || line.starts_with("struct Envelope ")) continue;
      const std::string comment = comment_under(*schema, i);
      EXPECT_TRUE(std::regex_search(comment, reply)) << schema->path << ": " << line << " what is the reply?";
      EXPECT_TRUE(std::regex_search(comment, repeat))
          << schema->path << ": " << line << " what happens when it is repeated?";
    }
  }
}

TEST(Messages, TwoOfFiveLinesOfASchemaExplain) {
  for (const Source* schema : sources_under({"messages"})) {
    if (!schema->path.ends_with(".capnp")) continue;
    std::size_t lines = 0, explained = 0;
    for (const std::string& line : schema->lines) {
      if (line.empty()) continue;
      ++lines;
      if (line.find("# ") != std::string::npos) ++explained;
    }
    EXPECT_GE(5 * explained, 2 * lines) << schema->path << ": " << explained << " of " << lines << " lines";
  }
}

}  // namespace
}  // namespace d9d::tidy
