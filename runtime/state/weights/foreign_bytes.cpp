#include "runtime/state/weights/foreign_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace d9d {
namespace {

constexpr std::string_view lfs_mark = "version https://git-lfs.github.com/spec/";
constexpr std::string_view from_pickle =
    "load it with transformers and save it by save_pretrained(), which writes model.safetensors";
constexpr std::string_view download_again = "download the file again";

struct Kind {
  std::string_view mark;
  std::string_view what;
  std::string_view remedy;
};
constexpr std::array kinds{
    Kind{"PK\x03\x04", "is a zip archive, as torch.save writes it", from_pickle},
    Kind{"\x80\x02", "is a pickle, as torch.save wrote it", from_pickle},
    Kind{"\x80\x04", "is a pickle", from_pickle},
    Kind{"GGUF", "is GGUF", "take the Hugging Face folder that it was made of"},
    Kind{"\x89HDF", "is HDF5, the format of TensorFlow's weights", from_pickle},
    Kind{"\x93NUMPY", "is an array of numpy", "give safetensors"},
    Kind{"\x1f\x8b", "is compressed by gzip", "unpack it"},
    Kind{"\x28\xb5\x2f\xfd", "is compressed by zstd", "unpack it"},
};

std::string of_pointer(std::string_view head) {
  std::string size;
  if (const auto at = head.find("\nsize "); at != std::string_view::npos) {
    const std::string_view digits = head.substr(at + 6);
    const auto end = std::find_if(digits.begin(), digits.end(), [](char c) { return c < '0' || c > '9'; });
    if (end != digits.begin()) size = fmt::format(" of {} bytes", std::string(digits.begin(), end));
  }
  return fmt::format(
      "is a pointer of git LFS, and not the file{} that it stands for; run `git lfs pull` in its folder",
      size);
}

bool is_page(std::string_view head) {
  std::string begin(head.substr(0, std::min<std::size_t>(head.size(), 64)));
  std::transform(begin.begin(), begin.end(), begin.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  begin.erase(0, begin.find_first_not_of(" \t\r\n"));
  return begin.starts_with("<!doctype") || begin.starts_with("<html") || begin.starts_with("<?xml");
}

}  // namespace

std::string foreign_bytes(std::string_view head) {
  if (head.empty()) return fmt::format("is empty; {}", download_again);
  if (head.starts_with(lfs_mark)) return of_pointer(head);
  for (const Kind& kind : kinds)
    if (head.starts_with(kind.mark)) return fmt::format("{}; {}", kind.what, kind.remedy);
  if (is_page(head)) return fmt::format("is a page of a web server, such as its error; {}", download_again);
  const auto begin = head.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && head[begin] == '{')
    return fmt::format("is JSON, such as a server's error; {}", download_again);
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == 0; }))
    return fmt::format("begins with zeros: a download that never ended; {}", download_again);
  return "";
}

}  // namespace d9d
