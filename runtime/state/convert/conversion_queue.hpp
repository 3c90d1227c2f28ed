#pragma once
// The remaining work of a conversion. Threads take it piece by piece, in the order of the plan.

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/state/convert/box_cursor.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/tensor_file/tensor_source.hpp"

namespace d9d {

// One box of one output; or, without an output, a group that has to be applied as a whole.
struct ConversionPiece {
  const StateGroup* group = nullptr;
  std::shared_ptr<const TensorMap> shapes;  // of the group's inputs
  TensorSpec output;
  Slice box;

  bool is_whole_group() const { return output.name.empty(); }
};

class ConversionQueue {
 public:
  struct Item {
    const StateGroup* group;
    std::vector<TensorSpec> outputs;  // the outputs to make
  };

  // The arguments must outlive the queue. A box has at most `box_bytes` bytes,
  // both read and written.
  ConversionQueue(const TensorSource& source, const StateMapper& mapper, std::vector<Item> items,
                  std::uint64_t box_bytes);

  // Returns the next piece; nothing after the last one and after cancel().
  // Thread-safe, like cancel().
  std::optional<ConversionPiece> next();
  void cancel();

 private:
  // The remaining boxes of an output, or a whole group if it cannot be cut into boxes.
  struct Part {
    ConversionPiece piece;
    std::optional<BoxCursor> boxes;
  };
  void split(const Item& item);
  bool moves(const StateGroup& group, const TensorSpec& output, const TensorMap& shapes) const;

  const TensorSource& source_;
  const StateMapper& mapper_;
  const std::vector<Item> items_;
  const std::uint64_t box_bytes_;
  std::mutex mutex_;  // guards the members below
  std::size_t next_item_ = 0;
  std::vector<Part> parts_;  // parts of the item before next_item_; the last one is taken first
};

TensorMap shapes_of(const TensorSource& source, const StateGroup& group);

}  // namespace d9d
