// Normalizer::apply_traced: where in the text what a normalizer makes comes from. Each step is done once more in
// parts that do not know of each other; inside a part the i-th character is taken for that of the i-th one before.
#include <utf8proc.h>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/grapheme.hpp"
#include "runtime/tokenizer/characters/unicode_class.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"
#include "runtime/tokenizer/codec/normalizer.hpp"

namespace d9d {
namespace {

using Trace = std::vector<std::uint32_t>;

// Appends for each byte of `made` where it comes from, `from` being that of the bytes of `part`.
void add_part(std::string_view part, const std::uint32_t* from, std::string_view made, Trace& out) {
  std::size_t source = 0;
  for (std::size_t at = 0; at < made.size();) {
    const std::size_t length = code_point_at(made, at).length;
    const bool copied = made.substr(at, length) == part.substr(std::min(source, part.size()), length);
    for (std::size_t i = 0; i < length; ++i) out.push_back(from[copied ? source + i : source]);
    at += length;
    const std::size_t next = source + code_point_at(part, source).length;
    if (next < part.size()) source = next;
  }
}

// `end_of(text, at)` is where the part that begins at `at` ends, `make(part, out)` what becomes of it.
template <class EndOf, class Make>
void trace_parts(std::string_view text, std::size_t size, Trace& from, EndOf&& end_of, Make&& make) {
  Trace out;
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of(text, at);
    made.clear();
    make(text.substr(at, end - at), made);
    add_part(text.substr(at, end - at), from.data() + at, made, out);
    at = end;
  }
  D9D_CHECK(out.size() == size, "a normalizer makes {} bytes in parts, {} at once", out.size(), size);
  from = std::move(out);
}

std::size_t character_end(std::string_view text, std::size_t at) {
  return at + code_point_at(text, at).length;
}

bool is_starter(char32_t value) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(value))->combining_class == 0;
}

}  // namespace

NormalizedText Normalizer::apply_traced(std::string_view text, NormalizerScratch& scratch,
                                        RegexScratch& regex, Trace& from) const {
  from.clear();
  if (steps_.empty() || (keeps_ascii_ && first_non_ascii(text) == text.size())) return {text};
  for (std::size_t at = 0; at < text.size(); ++at) from.push_back(static_cast<std::uint32_t>(at));
  std::string_view now = text;
  std::size_t head = text.empty() ? 0 : code_point_at(text, 0).length;
  for (const Step& step : steps_) {
    scratch.next.clear();
    std::visit(
        [&](const auto& which) {
          head = run(which, now, head, scratch.next, regex);
          trace(which, now, scratch.next.size(), regex, from);
        },
        step);
    std::swap(scratch.current, scratch.next);
    now = scratch.current;
  }
  return {now, head > 0};
}

void Normalizer::trace(Form form, std::string_view text, std::size_t size, RegexScratch& /*regex*/,
                       Trace& from) {
  std::string together, apart;
  // A part goes on while the next character combines with it.
  const auto end_of = [&](std::string_view all, std::size_t at) {
    std::size_t end = character_end(all, at);
    while (end < all.size() && static_cast<unsigned char>(all[end]) >= 0x80) {
      const std::size_t next = character_end(all, end);
      together.clear();
      apart.clear();
      append_form(all.substr(at, next - at), form, together);
      append_form(all.substr(at, end - at), form, apart);
      append_form(all.substr(end, next - end), form, apart);
      const char32_t value = code_point_at(all, end).value;
      if ((is_starter(value) || is_normalization_newer(value)) && together == apart) break;
      end = next;
    }
    return end;
  };
  trace_parts(text, size, from, end_of,
              [&](std::string_view part, std::string& out) { append_form(part, form, out); });
}

void Normalizer::trace(TextFilter filter, std::string_view text, std::size_t size, RegexScratch& /*regex*/,
                       Trace& from) {
  trace_parts(text, size, from, character_end,
              [&](std::string_view part, std::string& out) { apply_filter(filter, part, 0, out); });
}

void Normalizer::trace(const CharacterMap& map, std::string_view text, std::size_t size,
                       RegexScratch& /*regex*/, Trace& from) {
  trace_parts(text, size, from, grapheme_end,
              [&](std::string_view part, std::string& out) { map.apply(part, out); });
}

void Normalizer::trace(const Prepend& /*step*/, std::string_view text, std::size_t size,
                       RegexScratch& /*regex*/, Trace& from) {
  if (!text.empty()) from.insert(from.begin(), size - text.size(), from.front());
}

void Normalizer::trace(const Replace& step, std::string_view text, std::size_t size, RegexScratch& regex,
                       Trace& from) {
  Trace out;
  std::size_t done = 0;
  const auto copy_to = [&](std::size_t end) {
    out.insert(out.end(), from.begin() + static_cast<std::ptrdiff_t>(done),
               from.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for_each_match(step.pattern, text, regex, [&](TextSpan match) {
    copy_to(match.begin);
    // What is put in counts as made of the last character that it replaces, else of the one before it.
    const std::size_t last = match.begin < match.end ? match.end : match.begin;
    const std::uint32_t source = last > 0 ? from[last - code_point_before(text, last).length] : 0;
    out.resize(out.size() + step.content.size(), source);
    done = match.end;
  });
  copy_to(text.size());
  D9D_CHECK(out.size() == size, "a replacement makes {} bytes, traced {}", size, out.size());
  from = std::move(out);
}

void Normalizer::trace(Strip step, std::string_view text, std::size_t size, RegexScratch& /*regex*/,
                       Trace& from) {
  const std::size_t left = step.left ? leading_white_space(text) : 0;
  from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(left));
  from.resize(size);
}

}  // namespace d9d
