#pragma once
// What a browser may do with a page of ours (Content Security Policy, level 3): show it alone, with its own style, its own
// pictures and this one script, and send its forms back here.

#include <string>
#include <string_view>

namespace d9d::live {

// `script`: all that stands between the tags. No other script runs, whatever the texts of a run put into the page.
std::string content_policy(std::string_view script);

}  // namespace d9d::live
