#include "runtime/data/file/text_blocks.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/file/decoded_file.hpp"

namespace d9d {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t unpacked_at_once = 1 << 20;  // unpacked at once
constexpr std::size_t looked_at = 4096;
constexpr std::size_t tar_name_at = 257;

struct Begin {
  std::string_view bytes;
  std::string_view kind;
};
constexpr std::array begins{Begin{"PAR1"sv, "a Parquet file (format: parquet)"},
                            Begin{"ARROW1"sv, "an Arrow file (format: arrow)"},
                            Begin{"\xff\xff\xff\xff"sv, "an Arrow file (format: arrow)"},
                            Begin{"PK\x03\x04"sv, "a zip archive; unpack it"},
                            Begin{"\x89HDF"sv, "an HDF5 file"},
                            Begin{"\x93NUMPY"sv, "an array of NumPy (source: tokens)"},
                            Begin{"MMIDIDX"sv, "an index of Megatron (source: megatron)"},
                            Begin{"%PDF-"sv, "a PDF"},
                            Begin{"SQLite format 3"sv, "a database of SQLite"},
                            Begin{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive; unpack it"},
                            Begin{"\x04\x22\x4d\x18"sv, "an lz4 file; unpack it"},
                            Begin{"version https://git-lfs"sv,
                                  "a pointer file of git LFS; fetch what it stands for with git lfs pull"},
                            Begin{"\xff\xfe"sv, "text in UTF-16; write it as UTF-8, e.g. with iconv"},
                            Begin{"\xfe\xff"sv, "text in UTF-16; write it as UTF-8, e.g. with iconv"}};

void require_text(std::string_view first, const std::string& file) {
  const std::string kind = binary_kind(first);
  D9D_REQUIRE(kind.empty(), "{}: expected text, but it is {}", file, kind);
  if (first.substr(0, looked_at).find('\0') != std::string_view::npos)
    log::warn("data.files: {} has zero bytes among its text; is it text?", file);
}

// Whole documents are used as soon as they are there.
class PackedText {
 public:
  PackedText(DecodedFile& file, const std::string& name, std::size_t bytes_max)
      : file_(file), name_(name), bytes_max_(bytes_max) {}

  void use_all(const WholePart& whole, const std::function<void(const TextBlock&)>& use) {
    bool checked = false;
    for (bool ended = false; !ended;) {
      const std::size_t before = text_.size();
      const std::size_t wanted =
          std::max(unpacked_at_once, before);  // of a long document, twice as much each time
      text_.resize(before + wanted);
      const std::size_t more = file_.read(std::span(text_).subspan(before));
      text_.resize(before + more);
      ended = more < wanted;
      if (!std::exchange(checked, true)) {
        require_text(text_, name_);
        if (text_.starts_with(byte_order_mark)) text_.erase(0, byte_order_mark.size());
      }
      give(ended ? text_.size() : whole(text_), ended, use);
      D9D_REQUIRE(
          text_.size() <= bytes_max_,
          "{}: a document of more than {} MB in a packed file; unpack it, or choose smaller documents "
          "with data.document",
          name_, bytes_max_ >> 20);
    }
  }

 private:
  void give(std::size_t size, bool is_last, const std::function<void(const TextBlock&)>& use) {
    if (size == 0) return;
    const std::string_view part = std::string_view(text_).substr(0, size);
    use({part, line_, is_last, bytes_, file_.packed_read()});
    line_ += static_cast<std::uint64_t>(std::ranges::count(part, '\n'));
    bytes_ = file_.packed_read();
    text_.erase(0, size);
  }

  DecodedFile& file_;
  const std::string& name_;
  const std::size_t bytes_max_;
  std::string text_;
  std::uint64_t line_ = 1;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::uint64_t TextBlock::bytes_up_to(const char* place) const {
  const auto part = static_cast<std::uint64_t>(place - text.data());
  const std::uint64_t bytes = bytes_end - bytes_begin;
  if (bytes == text.size() || text.empty()) return bytes_begin + part;
  return bytes_begin + static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(part) /
                                                  static_cast<double>(text.size()));
}

std::size_t whole_lines(std::string_view text) {
  return text.rfind('\n') + 1;  // npos + 1 is 0
}

std::size_t whole_paragraphs(std::string_view text) {
  for (std::size_t end = text.rfind('\n'); end != std::string_view::npos && end > 0;
       end = text.rfind('\n', end - 1)) {
    if (text[end - 1] == '\n' || text.substr(0, end).ends_with("\n\r")) return end + 1;
  }
  return 0;
}

std::size_t nothing_whole(std::string_view) {
  return 0;
}

std::string binary_kind(std::string_view first) {
  first = first.substr(0, looked_at);
  for (const Begin& begin : begins) {
    if (first.starts_with(begin.bytes)) return std::string(begin.kind);
  }
  if (first.size() > tar_name_at && first.substr(tar_name_at).starts_with("ustar"))
    return "a tar archive; unpack it";
  const auto zeros = static_cast<std::size_t>(std::ranges::count(first, '\0'));
  if (zeros * 8 < first.size() || zeros == 0) return "";
  // Of the Latin alphabet every second byte is zero.
  return zeros * 3 > first.size()
             ? "text in UTF-16 or UTF-32 without a mark, or no text at all (zero bytes); write it "
               "as UTF-8, e.g. with iconv"
             : "no text (zero bytes)";
}

void for_each_block(const std::string& name, const WholePart& whole,
                    const std::function<void(const TextBlock&)>& use, std::size_t bytes_max) {
  DecodedFile file(name);
  if (file.is_packed()) return PackedText(file, name, bytes_max).use_all(whole, use);
  const std::string_view text = file.plain().text();
  if (text.empty()) return;
  require_text(text, name);
  const std::size_t mark = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  if (mark == text.size()) return;
  use({.text = text.substr(mark), .bytes_begin = mark, .bytes_end = text.size()});
}

}  // namespace d9d
