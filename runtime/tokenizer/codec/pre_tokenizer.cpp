#include "runtime/tokenizer/codec/pre_tokenizer.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::string_view known_pre_tokenizers =
    "null, ByteLevel, Metaspace, BertPreTokenizer, Split, Digits, Whitespace, WhitespaceSplit, Punctuation, "
    "CharDelimiterSplit, Sequence";
// Radford et al. 2019 (GPT-2): contractions, then letters,
// digits and the rest with one space in front, then spaces.
constexpr std::string_view byte_level_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// Word characters and white space as the library's other engine knows them: joiners belong to words.
constexpr std::string_view word_class = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D})";
// Punctuation as the library's tables (Unicode 8) know it: without
// what came later, with the two signs that are symbols today.
constexpr std::string_view punctuation_class =
    R"((?![)"
    R"(\x{61D}\x{9FD}\x{A76}\x{C77}\x{C84}\x{1B7D}-\x{1B7E}\x{2E43}-\x{2E4F}\x{2E52}-\x{2E5D})"
    R"(\x{10EAD}\x{10F55}-\x{10F59}\x{10F86}-\x{10F89}\x{1144B}-\x{1144F}\x{1145A}-\x{1145B})"
    R"(\x{1145D}\x{11660}-\x{1166C}\x{116B9}\x{1183B}\x{11944}-\x{11946}\x{119E2})"
    R"(\x{11A3F}-\x{11A46}\x{11A9A}-\x{11A9C}\x{11A9E}-\x{11AA2}\x{11C41}-\x{11C45})"
    R"(\x{11C70}-\x{11C71}\x{11EF7}-\x{11EF8}\x{11FFF}\x{12FF1}-\x{12FF2}\x{16E97}-\x{16E9A})"
    R"(\x{16FE2}\x{1E95E}-\x{1E95F})"
    R"(])[!-/:-@\[-`{-~\p{P}]|\x{166D}|\x{111C9})";

}  // namespace

PreTokenizer PreTokenizer::from_json(const JsonSection& section) {
  PreTokenizer pre_tokenizer;
  if (!section.is_null()) pre_tokenizer.add(section);
  return pre_tokenizer;
}

void PreTokenizer::add(const JsonSection& section) {
  const std::string type = section.text("type");
  if (byte_level_)
    section.refuse(fmt::format("{} after ByteLevel", type), "ByteLevel as the last of a Sequence");
  const auto split = [&](std::string_view pattern, Behavior behavior, bool invert) {
    steps_.emplace_back(Split{Regex::from_pattern(pattern), behavior, invert});
  };
  if (type == "Sequence") {
    for (const JsonSection& inner : section.at("pretokenizers").items()) add(inner);
  } else if (type == "ByteLevel") {
    add_byte_level(section);
  } else if (type == "Metaspace") {
    add_metaspace(section);
  } else if (type == "BertPreTokenizer") {
    split(R"(\s)", Behavior::removed, false);
    split(punctuation_class, Behavior::isolated, false);
  } else if (type == "Split") {
    steps_.emplace_back(Split{Regex::from_json(section.at("pattern")), behavior_of(section.at("behavior")),
                              section.flag("invert", false)});
  } else if (type == "Digits") {
    const bool individual = section.flag("individual_digits", false);
    split(R"(\p{N})", individual ? Behavior::isolated : Behavior::contiguous, false);
  } else if (type == "Whitespace") {
    split(fmt::format(R"([{0}]+|[^{0}\s]+)", word_class), Behavior::removed, true);
  } else if (type == "WhitespaceSplit") {
    split(R"(\s)", Behavior::removed, false);
  } else if (type == "Punctuation") {
    split(punctuation_class,
          section.has("behavior") ? behavior_of(section.at("behavior")) : Behavior::isolated, false);
  } else if (type == "CharDelimiterSplit") {
    steps_.emplace_back(Split{Regex::from_literal(section.text("delimiter")), Behavior::removed, false});
  } else {
    section.refuse(fmt::format("the pre-tokenizer {}", type), known_pre_tokenizers);
  }
}

void PreTokenizer::add_byte_level(const JsonSection& section) {
  if (section.flag("add_prefix_space", true)) steps_.emplace_back(PrefixSpace{});
  if (section.flag("use_regex", true)) {
    steps_.emplace_back(Split{Regex::from_pattern(byte_level_pattern), Behavior::isolated, false});
  }
  byte_level_ = true;
}

void PreTokenizer::add_metaspace(const JsonSection& section) {
  Metaspace step{section.text("replacement"), Prepend::always, section.flag("split", true)};
  D9D_REQUIRE(!step.replacement.empty(), "{}.replacement is empty, expected a character", section.path());
  if (section.has("prepend_scheme")) {
    const std::string scheme = section.text("prepend_scheme");
    if (scheme == "first") {
      step.prepend = Prepend::first;
    } else if (scheme == "never") {
      step.prepend = Prepend::never;
    } else if (scheme != "always") {
      section.at("prepend_scheme").refuse(scheme, "first, never, always");
    }
  }
  // The key of older files.
  if (!section.flag("add_prefix_space", true)) step.prepend = Prepend::never;
  steps_.emplace_back(std::move(step));
}

PreTokenizer::Behavior PreTokenizer::behavior_of(const JsonSection& section) {
  const std::string name = section.text();
  if (name == "Isolated") return Behavior::isolated;
  if (name == "Removed") return Behavior::removed;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  section.refuse(name, "Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous");
}

const std::vector<std::string_view>& PreTokenizer::split(std::string_view text, bool at_begin,
                                                         PreTokenizerScratch& scratch,
                                                         RegexScratch& regex) const {
  scratch.text_begin = at_begin ? text.data() : nullptr;
  scratch.made.clear();
  scratch.traces.clear();
  scratch.words.clear();
  if (!text.empty()) scratch.words.push_back(text);
  for (const Step& step : steps_) {
    scratch.next.clear();
    for (const std::string_view word : scratch.words) {
      std::visit([&](const auto& which) { run(which, word, scratch, regex); }, step);
    }
    std::swap(scratch.words, scratch.next);
  }
  return scratch.words;
}

const char* PreTokenizerScratch::source_of(const char* byte) const {
  for (;;) {
    const auto after = traces.upper_bound(byte);
    if (after == traces.begin()) return byte;
    const MadeWord& word = *std::prev(after)->second;
    const auto at = static_cast<std::size_t>(byte - word.text.data());
    if (at >= word.text.size()) return byte;
    byte = word.from[at];
  }
}

void PreTokenizerScratch::note_made() {
  if (traced) traces.emplace(made.back().text.data(), &made.back());
}

namespace {

// Receives the parts of a word from left to right, matched and not, and emits words.
template <class Behavior>
class Joiner {
 public:
  Joiner(Behavior behavior, std::string_view word, std::vector<std::string_view>& out)
      : behavior_(behavior), word_(word), out_(out) {}

  void part(TextSpan span, bool matched) {
    bool joins = false;
    switch (behavior_) {
      case Behavior::isolated:
        break;
      case Behavior::removed:
        if (matched) return;
        break;
      case Behavior::contiguous:
        joins = matched == previous_;
        break;
      case Behavior::merged_with_previous:
        joins = matched && !previous_;
        break;
      case Behavior::merged_with_next:
        joins = previous_ && !matched;
        break;
    }
    previous_ = matched;
    if (joins && open_) {
      open_->end = span.end;
      return;
    }
    flush();
    open_ = span;
  }

  void flush() {
    if (open_ && open_->begin < open_->end)
      out_.push_back(word_.substr(open_->begin, open_->end - open_->begin));
    open_.reset();
  }

 private:
  const Behavior behavior_;
  const std::string_view word_;
  std::vector<std::string_view>& out_;
  std::optional<TextSpan> open_;
  bool previous_ = false;
};

}  // namespace

void PreTokenizer::run(const Split& step, std::string_view word, PreTokenizerScratch& scratch,
                       RegexScratch& regex) {
  Joiner<Behavior> joiner(step.behavior, word, scratch.next);
  std::size_t done = 0;
  for_each_match(step.pattern, word, regex, [&](TextSpan match) {
    if (done != match.begin) joiner.part({done, match.begin}, step.invert);
    joiner.part(match, !step.invert);
    done = match.end;
  });
  if (done != word.size()) joiner.part({done, word.size()}, step.invert);
  joiner.flush();
}

void PreTokenizer::run(PrefixSpace, std::string_view word, PreTokenizerScratch& scratch, RegexScratch&) {
  if (word.starts_with(' ')) {
    scratch.next.push_back(word);
  } else {
    MadeWord& made = scratch.made.emplace_back();
    made.text.append(" ").append(word);
    if (scratch.traced) {
      made.from.push_back(word.data());
      for (const char& byte : word) made.from.push_back(&byte);
    }
    scratch.note_made();
    scratch.next.push_back(made.text);
  }
}

void PreTokenizer::run(const Metaspace& step, std::string_view word, PreTokenizerScratch& scratch,
                       RegexScratch&) {
  const bool has_prefix = word.starts_with(' ') || word.starts_with(step.replacement);
  const bool prepends = step.prepend == Prepend::always ||
                        (step.prepend == Prepend::first && word.data() == scratch.text_begin);
  MadeWord& made = scratch.made.emplace_back();
  if (prepends && !has_prefix) made.text = step.replacement;
  if (scratch.traced) made.from.resize(made.text.size(), word.data());
  for (const char& byte : word) {
    if (byte == ' ') {
      made.text.append(step.replacement);
    } else {
      made.text.push_back(byte);
    }
    if (scratch.traced) made.from.resize(made.text.size(), &byte);
  }
  scratch.note_made();
  const std::string_view all = made.text;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = step.split ? all.find(step.replacement, begin + 1) : std::string_view::npos;
    scratch.next.push_back(all.substr(begin, end - begin));
    begin = std::min(end, all.size());
  }
}

}  // namespace d9d
