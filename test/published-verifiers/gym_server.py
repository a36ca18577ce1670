"""NeMo Gym's resources server for reasoning-gym, alone: its port is the only argument."""

import sys
from unittest.mock import MagicMock

import uvicorn
from nemo_gym.server_utils import ServerClient
from resources_servers.reasoning_gym.app import ReasoningGymResourcesServer, ReasoningGymResourcesServerConfig

port = int(sys.argv[1])
config = ReasoningGymResourcesServerConfig(
    host="127.0.0.1", port=port, entrypoint="app.py", name="reasoning_gym", domain="other"
)
server = ReasoningGymResourcesServer(config=config, server_client=MagicMock(spec=ServerClient))
uvicorn.run(server.setup_webserver(), host="127.0.0.1", port=port, log_level="warning")
