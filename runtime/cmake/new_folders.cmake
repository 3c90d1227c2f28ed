# Part of cmake --install: adds to BUILD/new_folders.txt which folders it is about to make. Those of a package are
# nobody's.
set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
foreach(folder "" bin include lib lib/cmake share share/doc share/man share/man/man1 share/bash-completion
               share/bash-completion/completions share/zsh share/zsh/site-functions share/fish
               share/fish/vendor_completions.d)
  if(NOT EXISTS "${prefix}/${folder}" AND NOT CMAKE_INSTALL_COMPONENT)
    file(APPEND "${build}/new_folders.txt" "${prefix}/${folder}\n")
  endif()
endforeach()
