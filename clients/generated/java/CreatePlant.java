import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.PlantsApi;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.ErrorCode;
import org.openapitools.client.model.NewPlant;

public class CreatePlant {
  public static void main(String[] args) throws Exception {
    var client = new ApiClient();
    client.updateBaseUri(System.getenv("URL"));
    client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + System.getenv("TOKEN")));
    var plants = new PlantsApi(client);

    var oak = new NewPlant().id(Long.MAX_VALUE).name("Oak");
    var plantId = plants.createPlantWithHttpInfo(oak).getHeaders().get("Plant-Id").get(0);
    System.out.println("Plant-Id " + plantId);

    try {
      plants.createPlant(new NewPlant().id(Long.MAX_VALUE).name("Elm"));
    } catch (ApiException refused) {
      var mapper = ApiClient.createDefaultObjectMapper();
      var error = mapper.readValue(refused.getResponseBody(), Error.class);
      if (error.getError().equals(ErrorCode.ID_TAKEN.getValue()))
        System.out.println("ID_TAKEN " + error.getMessage());
    }
  }
}
