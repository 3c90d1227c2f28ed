#include "runtime/base/config/parse.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "runtime/base/config/problems.hpp"
#include "runtime/base/error.hpp"

namespace d9d::config {
namespace {

constexpr std::size_t bytes_max = 1 << 20;
constexpr std::size_t depth_max = 64;
constexpr std::size_t nodes_max = 100'000;
const std::string tag_prefix = "tag:yaml.org,2002:";

std::size_t count_nodes(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += count_nodes(item);
  for (const Entry& entry : node.entries) count += count_nodes(entry.value);
  return count;
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::shared_ptr<const std::string> origin) : origin_(std::move(origin)) {}

  Node take() {
    problems_.throw_if_any();
    return std::move(root_);
  }

  void OnDocumentStart(const YAML::Mark& mark) override { root_.mark = here(mark); }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.text = "null";
    node.mark = here(mark);
    finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      problems_.error(here(mark), "", "an alias inside of its own anchor", "write the value out");
      finish(Node{.mark = here(mark)}, 0);
      return;
    }
    spend(count_nodes(found->second), mark);
    finish(Node(found->second), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = value;
    node.mark = here(mark);
    // yaml-cpp: "?" is a plain scalar, "!" a quoted one; any other tag is explicit.
    node.quoted = tag == "!" || tag == tag_prefix + "str";
    if (!node.quoted) require_known(tag, {"int", "float", "bool", "null"}, node.mark);
    spend(1, mark);
    finish(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    require_known(tag, {"seq"}, here(mark));
    open(Node::Kind::list, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    require_known(tag, {"map"}, here(mark));
    open(Node::Kind::map, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor;
    std::string key;
    Mark key_mark;
    bool has_key = false, merges = false;
    std::vector<Node> merged{};  // of the merge keys, in their order
  };

  Mark here(const YAML::Mark& mark) const { return {origin_, mark.line + 1, mark.column + 1}; }

  [[noreturn]] void refuse(const YAML::Mark& mark, std::string what) const {
    throw Error(ErrorKind::input, std::move(what), to_string(here(mark)));
  }

  // `!include x`, `!env X`: a program that ignored the tag would take the text beside it for the value.
  void require_known(const std::string& tag, std::initializer_list<const char*> names, const Mark& mark) {
    if (tag == "?") return;  // none
    for (const char* name : names)
      if (tag == tag_prefix + name) return;
    const bool is_core = tag.starts_with(tag_prefix);
    problems_.error(
        mark, "",
        fmt::format("the tag {} has no meaning here", is_core ? "!!" + tag.substr(tag_prefix.size()) : tag),
        "write the value itself, without a tag");
  }

  void spend(std::size_t nodes, const YAML::Mark& mark) {
    nodes_ += nodes;
    if (nodes_ > nodes_max) refuse(mark, fmt::format("more than {} values; a config is smaller", nodes_max));
  }

  void open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    spend(1, mark);
    if (frames_.size() >= depth_max) refuse(mark, fmt::format("nested deeper than {} levels", depth_max));
    Frame frame{.anchor = anchor};
    frame.node.kind = kind;
    frame.node.mark = here(mark);
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const Node& from : frame.merged)
      for (const Entry& entry : from.entries)
        if (!frame.node.find(entry.key)) frame.node.entries.push_back(entry);
    finish(std::move(frame.node), frame.anchor);
  }

  void finish(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == Node::Kind::list) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      take_key(frame, node);
    } else {
      put(frame, std::move(node));
    }
  }

  void take_key(Frame& frame, const Node& node) {
    const bool scalar = node.kind == Node::Kind::scalar || node.kind == Node::Kind::null;
    if (!scalar)
      problems_.error(node.mark, "", "a key must be a text, given " + describe(node), "write key: value");
    frame.key = node.text;
    frame.key_mark = node.mark;
    frame.has_key = true;
    frame.merges = node.kind == Node::Kind::scalar && !node.quoted && node.text == "<<";
  }

  void put(Frame& frame, Node node) {
    frame.has_key = false;
    if (frame.merges) return merge(frame, std::move(node));
    for (const Entry& entry : frame.node.entries) {
      if (entry.key != frame.key) continue;
      problems_.error(frame.key_mark, path_to(frame.key),
                      fmt::format("given twice, first in line {}", entry.mark.line), "remove one of them");
      return;
    }
    frame.node.entries.push_back({frame.key, frame.key_mark, std::move(node)});
  }

  void merge(Frame& frame, Node node) {
    std::vector<Node> from;
    if (node.kind == Node::Kind::list) {
      from = std::move(node.items);
    } else {
      from.push_back(std::move(node));
    }
    for (Node& one : from) {
      if (one.kind == Node::Kind::map) {
        frame.merged.push_back(std::move(one));
      } else {
        problems_.error(frame.key_mark, path_to("<<"), "adds the keys of a section, given " + describe(one),
                        "write `<<: *name`, where `&name` stands before a section");
      }
    }
  }

  std::string path_to(const std::string& key) const {
    std::string path;
    for (std::size_t i = 0; i + 1 < frames_.size(); ++i) {
      const Frame& frame = frames_[i];
      const bool list = frame.node.kind == Node::Kind::list;
      path += (list ? std::to_string(frame.node.items.size()) : frame.key) + ".";
    }
    return path + key;
  }

  std::shared_ptr<const std::string> origin_;
  Problems problems_;
  Node root_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
};

// The value of `\\uXXXX` at `at`, or nothing.
std::optional<unsigned> escape_at(const std::string& text, std::size_t at) {
  if (text.compare(at, 2, "\\u") != 0 || at + 6 > text.size()) return std::nullopt;
  unsigned value = 0;
  const char* end = text.data() + at + 6;
  const auto result = std::from_chars(text.data() + at + 2, end, value, 16);
  return result.ptr == end ? std::optional(value) : std::nullopt;
}

// JSON writes a character beyond U+FFFF as two escapes, YAML
// as one of eight digits, and yaml-cpp knows only YAML's.
std::string join_surrogates(const std::string& text) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    const auto high = escape_at(text, i);
    const auto low = high && *high >= 0xD800 && *high < 0xDC00 ? escape_at(text, i + 6) : std::nullopt;
    if (low && *low >= 0xDC00 && *low < 0xE000) {
      out += fmt::format("\\U{:08x}", 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
      i += 12;
      continue;
    }
    const std::size_t length = text[i] == '\\' && i + 1 < text.size() ? 2 : 1;  // `\\\\u` is no escape
    out.append(text, i, length);
    i += length;
  }
  return out;
}

// Where the first byte is that cannot be UTF-8, as the Unicode standard (table 3-7) has it.
std::optional<std::size_t> first_foreign_byte(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned lead = at(i), second = at(i + 1);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    bool good = length == 1 || (length > 1 && second >= 0x80 && second < 0xC0);
    if (lead == 0xE0) good = good && second >= 0xA0;
    if (lead == 0xED) good = good && second < 0xA0;
    if (lead == 0xF0) good = good && second >= 0x90;
    if (lead == 0xF4) good = good && second < 0x90;
    for (std::size_t k = 2; k < length; ++k) good = good && at(i + k) >= 0x80 && at(i + k) < 0xC0;
    if (!good) return i;
    i += length;
  }
  return {};
}

}  // namespace

void require_utf8(const std::string& text, std::string origin_text) {
  // yaml-cpp reads UTF-16 and UTF-32, which say so at their beginning.
  const bool wide = text.starts_with("\xFE\xFF") || text.starts_with("\xFF\xFE") ||
                    text.starts_with(std::string_view("\0", 1));
  const auto foreign = wide ? std::nullopt : first_foreign_byte(text);
  if (!foreign) return;
  const auto origin = std::make_shared<const std::string>(std::move(origin_text));
  const std::string_view before = std::string_view(text).substr(0, *foreign);
  const std::size_t newline = before.rfind('\n');
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const Mark mark{origin, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
                  static_cast<int>(*foreign - begin) + 1};
  const std::string line(before.substr(begin));
  throw Error(
      ErrorKind::input,
      fmt::format("the byte {:#04x} after \"{}\" is not UTF-8; save the file as UTF-8. A file or folder "
                  "whose own name is not UTF-8 needs a link to it with another name",
                  static_cast<unsigned char>(text[*foreign]), line),
      to_string(mark));
}

Node parse(const std::string& text, std::string origin_text) {
  const auto origin = std::make_shared<const std::string>(std::move(origin_text));
  D9D_REQUIRE(text.size() <= bytes_max, "{}: {} bytes; a config has at most {}", *origin, text.size(),
              bytes_max);
  require_utf8(text, *origin);
  TreeBuilder builder(origin);
  std::istringstream stream(join_surrogates(text));
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      Node empty;
      empty.mark = {origin, 1, 1};
      return empty;
    }
    Node root = builder.take();
    if (parser) {
      throw Error(ErrorKind::input, "more than one YAML document (a line `---`); keep one", *origin);
    }
    return root;
  } catch (const YAML::Exception& error) {
    const Mark mark{origin, error.mark.line + 1, error.mark.column + 1};
    throw Error(
        ErrorKind::input,
        fmt::format("not valid YAML or JSON: {}; look at this line and the one above: a space after each "
                    "colon, spaces (no tabs) to indent, quotes and brackets closed",
                    error.msg),
        to_string(mark));
  }
}

std::string read_config_text(const std::filesystem::path& file) {
  std::error_code ignored;
  D9D_REQUIRE(!std::filesystem::is_directory(file, ignored), "{}: is a folder; give a YAML or JSON file",
              file.string());
  std::ifstream stream(file == "-" ? "/dev/stdin" : file, std::ios::binary);
  D9D_REQUIRE(stream, "cannot read {}: {}; give the path of a job file", file.string(), std::strerror(errno));
  std::string text(bytes_max + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  D9D_REQUIRE(text.size() <= bytes_max, "{}: more than {} bytes; is it a job file?", file.string(),
              bytes_max);
  return text;
}

Node parse_file(const std::filesystem::path& file) {
  return parse(read_config_text(file), file == "-" ? "standard input" : file.string());
}

}  // namespace d9d::config
