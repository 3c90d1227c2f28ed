#include "runtime/trace/file/flow_joiner.hpp"

namespace d9d::trace {

std::vector<FlowJoiner::Arrow> FlowJoiner::see(const Slice& slice, std::uint64_t flow_in,
                                               std::uint64_t flow_out) {
  std::vector<Arrow> arrows;
  if (flow_out != 0) {
    if (senders_.insert_or_assign(flow_out, slice).second) sender_order_.push_back(flow_out);
    if (const auto waiting = waiting_.find(flow_out); waiting != waiting_.end()) {
      for (const Slice& receiver : waiting->second) arrows.push_back({slice, receiver});
      waiting_count_ -= waiting->second.size();
      waiting_.erase(waiting);
    }
  }
  if (flow_in != 0) {
    if (const auto sender = senders_.find(flow_in); sender != senders_.end()) {
      arrows.push_back({sender->second, slice});
    } else {
      std::vector<Slice>& waiting = waiting_[flow_in];
      if (waiting.empty()) waiting_order_.push_back(flow_in);
      waiting.push_back(slice);
      ++waiting_count_;
    }
  }
  forget_oldest();
  return arrows;
}

void FlowJoiner::forget_oldest() {
  while (sender_order_.size() > limit_) {
    senders_.erase(sender_order_.front());
    sender_order_.pop_front();
  }
  // The order also holds flows that were joined meanwhile; those are no longer in the map.
  while (waiting_order_.size() > limit_) {
    if (const auto oldest = waiting_.find(waiting_order_.front()); oldest != waiting_.end()) {
      waiting_count_ -= oldest->second.size();
      dropped_ += oldest->second.size();
      waiting_.erase(oldest);
    }
    waiting_order_.pop_front();
  }
}

}  // namespace d9d::trace
