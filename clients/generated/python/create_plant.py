import os

from openapi_client import ApiClient, ApiException, Configuration, ErrorCode, NewPlant, PlantsApi

ID = 2**63 - 1
configuration = Configuration(host=os.environ["URL"], access_token=os.environ["TOKEN"])

with ApiClient(configuration) as client:
    plants = PlantsApi(client)

    created = plants.create_plant_with_http_info(NewPlant(id=ID, name="Oak"))
    print("Plant-Id", created.headers["Plant-Id"])

    try:
        plants.create_plant(NewPlant(id=ID, name="Elm"))
    except ApiException as refused:
        if refused.data.error == ErrorCode.ID_TAKEN:
            print("ID_TAKEN", refused.data.message)
