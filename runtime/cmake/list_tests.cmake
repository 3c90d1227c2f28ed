# Writes the ctests of a test binary after it is linked; see d9d_tests(). Several suites are one ctest that bears their
# names, because loading LibTorch and leaving it costs each process 0.4 s of a CPU; a suite of many tests is parted.
#   BINARY ENVIRONMENT    how its tests are listed, and run
#   APART                 suites (regular expressions) of which each test is a ctest, with a process of its own
#   LABELS TIMEOUT        of each ctest; at night there is no timeout. What may take longest begins first.
#   OUT                   the file that ctest includes
# Suites named Night/... are there only where the environment has D9D_NIGHT when ctest runs.
cmake_minimum_required(VERSION 3.24)
set(tests_max 30)    # of a ctest of several suites
set(letters_max 80)  # of its name: ctest makes its lines as wide as the longest
set(part 60)         # tests of a part

execute_process(COMMAND env ${ENVIRONMENT} ${BINARY} --gtest_list_tests OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "[" "<" list "${list}")  # parameters print any letter; lists of CMake bear not all of them
string(REPLACE "]" ">" list "${list}")
string(REPLACE ";" "," list "${list}")
string(REPLACE "\n" ";" lines "${list}")

set(script "if(DEFINED ENV{D9D_NIGHT})\n  set(timeout 36000)\nelse()\n  set(timeout ${TIMEOUT})\nendif()\n")
if(LABELS MATCHES "e2e")
  set(cost "COST ${TIMEOUT}")
endif()
# The end of what gtest prints: none passed and none failed. It matches where no other line follows.
set(all_skipped "PASSED  . 0 tests.\n(.  SKIPPED .[^\n]*\n)+$")
# Further arguments are variables of the environment.
function(add_ctest name filter)
  set(environment ${ENVIRONMENT} ${ARGN})
  set(ctest "add_test([==[${name}]==] [==[${BINARY}]==] [==[--gtest_filter=${filter}]==])
set_tests_properties([==[${name}]==] PROPERTIES
  ENVIRONMENT [==[${environment}]==] LABELS [==[${LABELS}]==] TIMEOUT \${timeout} ${cost}
  SKIP_REGULAR_EXPRESSION [[${all_skipped}]])\n")
  if(filter MATCHES "^Night/")
    set(ctest "if(DEFINED ENV{D9D_NIGHT})\n${ctest}endif()\n")
  endif()
  set(script "${script}${ctest}" PARENT_SCOPE)
endfunction()

set(suites)
foreach(line ${lines})
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.$")
    set(suite "${CMAKE_MATCH_1}")
    set(apart OFF)
    foreach(expression ${APART} Night/.*)
      if(suite MATCHES "^(${expression})$")
        set(apart ON)
      endif()
    endforeach()
    if(NOT apart)
      list(APPEND suites ${suite})
      set(count_of_${suite} 0)
    endif()
  elseif(line MATCHES "^  ([A-Za-z0-9_/]+)( +# GetParam\\(\\) = (.*))?$")
    if(apart)
      set(test "${CMAKE_MATCH_1}")
      set(name "${test}")
      if(CMAKE_MATCH_2)
        string(REGEX REPLACE "/[0-9]+$" "/${CMAKE_MATCH_3}" name "${test}")
      endif()
      add_ctest("${suite}.${name}" "${suite}.${test}")
    else()
      math(EXPR count_of_${suite} "${count_of_${suite}} + 1")
    endif()
  endif()
endforeach()

macro(close_group)
  if(group)
    list(JOIN group " " name)
    list(JOIN group ".*:" filter)
    add_ctest("${name}" "${filter}.*")
  endif()
  set(group)
  set(tests 0)
endmacro()
close_group()
foreach(suite ${suites})
  set(count ${count_of_${suite}})
  if(count GREATER part)
    math(EXPR parts "(${count} + ${part} - 1) / ${part}")
    math(EXPR last "${parts} - 1")
    foreach(index RANGE ${last})
      math(EXPR number "${index} + 1")
      add_ctest("${suite} ${number} of ${parts}" "${suite}.*" GTEST_TOTAL_SHARDS=${parts} GTEST_SHARD_INDEX=${index})
    endforeach()
    continue()
  endif()
  list(JOIN group " " name)
  string(LENGTH "${name} ${suite}" letters)
  math(EXPR sum "${tests} + ${count}")
  if(sum GREATER tests_max OR letters GREATER letters_max)
    close_group()
  endif()
  list(APPEND group ${suite})
  math(EXPR tests "${tests} + ${count}")
endforeach()
close_group()
file(WRITE ${OUT} "${script}")
