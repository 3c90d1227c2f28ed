#include "runtime/data/file/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/data/file/npy_header.hpp"

namespace d9d {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are read as they lie in the file");

constexpr std::string_view npy_magic = "\x93NUMPY";

struct TypeRow {
  NpyType type;
  std::string_view descr;
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<TypeRow, 11> npy_types{{{NpyType::int8, "|i1", "int8", 1},
                                             {NpyType::int16, "<i2", "int16", 2},
                                             {NpyType::int32, "<i4", "int32", 4},
                                             {NpyType::int64, "<i8", "int64", 8},
                                             {NpyType::uint8, "|u1", "uint8", 1},
                                             {NpyType::uint16, "<u2", "uint16", 2},
                                             {NpyType::uint32, "<u4", "uint32", 4},
                                             {NpyType::uint64, "<u8", "uint64", 8},
                                             {NpyType::float32, "<f4", "float32", 4},
                                             {NpyType::float64, "<f8", "float64", 8},
                                             {NpyType::boolean, "|b1", "bool", 1}}};

const TypeRow& row_of(NpyType type) {
  return npy_types[static_cast<std::size_t>(type)];
}

NpyType type_of(std::string_view descr) {
  for (const TypeRow& row : npy_types) {
    if (row.descr == descr) return row.type;
  }
  throw Error(ErrorKind::input, fmt::format("dtype \"{}\" is not supported; expected little-endian integers, "
                                            "booleans, float32 or float64 (numpy: array.astype(\"int32\"))",
                                            descr));
}

// Product of the shape times the element size; nothing when it does not fit.
bool size_in_bytes(const std::vector<std::int64_t>& shape, std::size_t element_bytes, std::size_t& out) {
  out = 0;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  out = element_bytes;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(out, static_cast<std::size_t>(size), &out)) return false;
  }
  return true;
}

struct Body {
  NpyHeader header;
  std::size_t begin;
};

Body read_header(std::string_view text) {
  D9D_REQUIRE(text.starts_with(npy_magic),
              "not a .npy file (it does not begin with \\x93NUMPY); write it with numpy.save");
  D9D_REQUIRE(text.size() >= 10, "the file ends inside its header");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
  };
  const std::size_t major = byte(6);
  D9D_REQUIRE(major == 1 || major == 2, "version {}.{} of the format is not supported; expected 1.0 or 2.0",
              major, byte(7));
  const std::size_t prefix = major == 1 ? 10 : 12;
  D9D_REQUIRE(text.size() >= prefix, "the file ends inside its header");
  std::size_t length = byte(8) | byte(9) << 8;
  if (major == 2) length |= byte(10) << 16 | byte(11) << 24;
  D9D_REQUIRE(text.size() - prefix >= length, "the file ends inside its header");
  return {parse_npy_header(text.substr(prefix, length)), prefix + length};
}

// Calls with one element of each C++ type that `type` stands for.
template <class Use>
void with_type(NpyType type, Use&& use) {
  switch (type) {
    case NpyType::int8:
      return use(std::int8_t{});
    case NpyType::int16:
      return use(std::int16_t{});
    case NpyType::int32:
      return use(std::int32_t{});
    case NpyType::int64:
      return use(std::int64_t{});
    case NpyType::uint8:
      return use(std::uint8_t{});
    case NpyType::uint16:
      return use(std::uint16_t{});
    case NpyType::uint32:
      return use(std::uint32_t{});
    case NpyType::uint64:
      return use(std::uint64_t{});
    case NpyType::float32:
      return use(float{});
    case NpyType::float64:
      return use(double{});
    case NpyType::boolean:
      return use(std::uint8_t{});
  }
}

template <class Out>
void convert(NpyType type, const std::byte* from, std::span<Out> out) {
  with_type(type, [&](auto element) {
    for (Out& value : out) {
      // The header's length is the writer's choice, so elements need not be aligned.
      std::memcpy(&element, from, sizeof element);
      from += sizeof element;
      value = static_cast<Out>(element);
    }
  });
}

template <class Out>
void convert(const NpyArray& array, std::int64_t first, std::span<Out> out) {
  const auto count = static_cast<std::int64_t>(out.size());
  D9D_CHECK(first >= 0 && first + count <= array.num_elements(), "elements {} to {} of {}", first,
            first + count, array.num_elements());
  convert(array.type(), array.bytes().data() + static_cast<std::size_t>(first) * bytes_of(array.type()), out);
}

}  // namespace

std::string_view name_of(NpyType type) {
  return row_of(type).name;
}
std::size_t bytes_of(NpyType type) {
  return row_of(type).bytes;
}
bool is_integer(NpyType type) {
  return !is_float(type) && type != NpyType::boolean;
}
bool is_float(NpyType type) {
  return type == NpyType::float32 || type == NpyType::float64;
}
void read_integers(NpyType type, const std::byte* from, std::span<std::int64_t> out) {
  D9D_CHECK(!is_float(type), "{} as integers", name_of(type));
  convert(type, from, out);
}

NpyArray::NpyArray(const std::filesystem::path& path) : path_(path), file_(path) {
  try {
    const Body body = read_header(file_.text());
    D9D_REQUIRE(!body.header.fortran_order,
                "the array is in Fortran order; expected C order (numpy.save of numpy.ascontiguousarray)");
    type_ = type_of(body.header.descr);
    shape_ = body.header.shape;
    std::size_t expected = 0;
    const std::size_t got = file_.bytes().size() - body.begin;
    D9D_REQUIRE(size_in_bytes(shape_, bytes_of(type_), expected),
                "the header ({}) says more bytes of data than any file can have, the file has {}; it is "
                "damaged, or no array that numpy wrote",
                to_text(body.header), got);
    D9D_REQUIRE(expected == got,
                "the header ({}) says {} bytes of data, the file has {}; it is cut short or damaged",
                to_text(body.header), expected, got);
    bytes_ = file_.bytes().subspan(body.begin);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), path.string());
  }
}

std::int64_t NpyArray::num_elements() const {
  return static_cast<std::int64_t>(bytes_.size() / bytes_of(type_));
}

void NpyArray::read(std::int64_t first, std::span<std::int64_t> out) const {
  D9D_REQUIRE(!is_float(type_), "{} holds {}, expected integers", path_.string(), name_of(type_));
  convert(*this, first, out);
}

void NpyArray::read(std::int64_t first, std::span<float> out) const {
  convert(*this, first, out);
}

}  // namespace d9d
