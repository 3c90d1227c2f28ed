#include "runtime/base/host/torch_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace d9d {
namespace {

namespace fs = std::filesystem;
constexpr const char* library_name = "libtorch_cpu.so";

// Folders of `parent` whose names begin so, sorted; none if it cannot be read.
std::vector<fs::path> folders_that_begin(const fs::path& parent, std::string_view begin) {
  std::vector<fs::path> found;
  std::error_code unreadable;
  for (fs::directory_iterator at(parent, unreadable), end; !unreadable && at != end; at.increment(unreadable))
    if (at->path().filename().string().starts_with(begin)) found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

// Where LibTorch's libraries may be if `root` is a venv, a conda environment, a folder of packages, torch's own folder,
// an unpacked archive, or the folder of the libraries.
std::vector<fs::path> library_folders(const fs::path& root) {
  std::vector<fs::path> folders{root, root / "lib", root / "torch/lib", root / "libtorch/lib"};
  for (const fs::path& python : folders_that_begin(root / "lib", "python3")) {
    for (const char* packages : {"site-packages", "dist-packages"})
      folders.push_back(python / packages / "torch/lib");
  }
  return folders;
}

// The value after the first `name` at the beginning of a line, without quotes: of "home = /usr/bin", or of
// "cuda: Optional[str] = '13.0'".
std::string value_in(const fs::path& file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t sign = line.find('=');
    if (!line.starts_with(name) || sign == std::string::npos) continue;
    line.erase(0, sign + 1);
    std::erase_if(line, [](char c) { return c == ' ' || c == '\'' || c == '"' || c == '\r'; });
    return line == "None" ? "" : line;
  }
  return "";
}

// A wheel has version.py, an archive has build-version: both beside the folder of the libraries.
TorchLibrary library_in(const fs::path& folder) {
  TorchLibrary torch{.folder = folder.string()};
  const fs::path parent = folder.parent_path();
  torch.version = value_in(parent / "version.py", "__version__");
  torch.cuda = value_in(parent / "version.py", "cuda");
  if (torch.version.empty()) {
    std::ifstream archive(parent / "build-version");
    archive >> torch.version;
  }
  std::error_code ignored;
  if (torch.cuda.empty() && fs::exists(folder / "libtorch_cuda.so", ignored))
    torch.cuda = "(of unknown version)";
  return torch;
}

// "2.11" of "2.11.0+cpu"
std::string minor_of(const std::string& version) {
  const std::size_t dot = version.find('.');
  return version.substr(0, dot == std::string::npos ? dot : version.find_first_not_of("0123456789", dot + 1));
}

fs::path variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where the search looks, the most telling place first.
std::vector<fs::path> roots_of(const TorchSearch& search) {
  const fs::path venv = fs::path(search.prefix) / "pyvenv.cfg", home = variable("HOME");
  const bool shares = value_in(venv, "include-system-site-packages") == "true";
  const fs::path cache = variable("XDG_CACHE_HOME").empty() ? home / ".cache" : variable("XDG_CACHE_HOME");
  std::vector<fs::path> roots;
  std::string paths = variable("LD_LIBRARY_PATH").string();
  for (char* at = std::strtok(paths.data(), ":"); at != nullptr; at = std::strtok(nullptr, ":"))
    roots.emplace_back(at);
  roots.insert(roots.end(), {search.prefix, search.built_folder});
  if (shares) roots.push_back(fs::path(value_in(venv, "home")).parent_path());
  roots.insert(roots.end(), {variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), home / ".local"});
  for (const fs::path& folder : folders_that_begin(cache / "d9d", "torch-")) roots.push_back(folder);
  roots.insert(roots.end(), {"/usr/local", "/usr/lib/python3/dist-packages"});
  std::erase(roots, fs::path());
  return roots;
}

std::string remedy(const TorchSearch& search) {
  const std::string package = "'torch==" + minor_of(search.built_with) + ".*'";
  const std::string program = " (or of another folder: D9D_TORCH=FOLDER)";
  std::error_code ignored;
  if (fs::exists(fs::path(search.prefix) / "pyvenv.cfg", ignored))
    return "install it: " + search.prefix + "/bin/python -m pip install " + package + program;
  const std::string venv = "~/.cache/d9d/torch-" + minor_of(search.built_with);
  return "install it: python3 -m venv " + venv + " && " + venv + "/bin/pip install " + package + program;
}

}  // namespace

TorchLibrary find_torch(const TorchSearch& search) {
  const std::string wanted = minor_of(search.built_with);
  fs::path given = variable("D9D_TORCH");
  if (!given.has_parent_path()) given.clear();  // a version, for .ci/deps and CMake
  std::string others;
  for (const fs::path& root : given.empty() ? roots_of(search) : std::vector<fs::path>{given}) {
    bool is_hidden = false;  // said once for a root
    for (const fs::path& folder : library_folders(root)) {
      const fs::path file = folder / library_name;
      if (::access(file.c_str(), F_OK) != 0) {
        // A folder that this user may not look into is no folder that is not there.
        if (errno == EACCES && !is_hidden) {
          others += "; " + folder.string() + " cannot be read by this user: " + std::strerror(EACCES);
          is_hidden = true;
        }
        continue;
      }
      const TorchLibrary torch = library_in(folder);
      if (::access(file.c_str(), R_OK) != 0) {
        others += "; " + file.string() + " cannot be read by this user: " + std::strerror(errno);
      } else if (!torch.version.empty() && minor_of(torch.version) != wanted) {
        if (others.find(torch.folder) == std::string::npos)
          others += "; " + torch_text(torch) + ", needs a d9d-node that was built for it";
      } else {
        return torch;
      }
    }
  }
  const std::string place = given.empty() ? "" : " in D9D_TORCH=" + given.string();
  return {.problem = "this program was built for LibTorch " + wanted + ", and there is none" + place +
                     others + "; " + remedy(search)};
}

TorchLibrary loaded_torch() {
  void* const library = dlopen(library_name, RTLD_NOW | RTLD_NOLOAD);
  char folder[PATH_MAX] = "";
  if (library == nullptr || dlinfo(library, RTLD_DI_ORIGIN, folder) != 0) return {};
  return library_in(folder);
}

std::string torch_text(const TorchLibrary& torch) {
  const std::string version = torch.version.empty() ? "of unknown version" : torch.version;
  const std::string cuda = torch.cuda.empty() ? "without CUDA" : "with CUDA " + torch.cuda;
  return "LibTorch " + version + " " + cuda + ", in " + torch.folder;
}

}  // namespace d9d
