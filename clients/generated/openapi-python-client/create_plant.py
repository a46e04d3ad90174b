import os

from plant_store_client import AuthenticatedClient
from plant_store_client.api.plants import create_plant
from plant_store_client.models import Error, ErrorCode, NewPlant

ID = 2**63 - 1

with AuthenticatedClient(base_url=os.environ["URL"], token=os.environ["TOKEN"]) as client:
    created = create_plant.sync_detailed(client=client, body=NewPlant(id=ID, name="Oak"))
    print("Plant-Id", created.headers["Plant-Id"])

    refused = create_plant.sync(client=client, body=NewPlant(id=ID, name="Elm"))
    if isinstance(refused, Error) and refused.error == ErrorCode.ID_TAKEN:
        print("ID_TAKEN", refused.message)
