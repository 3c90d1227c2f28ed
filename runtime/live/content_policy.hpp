#pragma once
// The rules for a browser that shows our page (Content Security Policy, level 3): show it alone,
// with its own style and pictures and this one script, and send its forms back to this address.

#include <string>
#include <string_view>

namespace d9d::live {

// `script` is the exact text between the tags. No other script runs, whatever texts a run
// puts into the page.
std::string content_policy(std::string_view script);

}  // namespace d9d::live
