"""A flow's memory for graphs: in process and over HTTP.

The fast suite has graphs over HTTP, which add JSON to all that happens in process; test_flow_memory.py has both.
"""

from __future__ import annotations

import pytest
from harness.api import Api
from harness.graphs import over_http
from two_llm_nodes import FLOW

from memorybase.integrations.flow_memory import FlowMemory, InProcess


@pytest.fixture(params=[pytest.param("in process", marks=pytest.mark.slow), "over http"])
def memory(request: pytest.FixtureRequest, api: Api) -> FlowMemory:
    api.flow(FLOW)
    return InProcess(api.services, api.user_id, FLOW) if request.param == "in process" else over_http(api)[0]
