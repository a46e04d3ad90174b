import org.openapitools.client.apis.PlantsApi
import org.openapitools.client.infrastructure.ApiClient
import org.openapitools.client.infrastructure.ClientError
import org.openapitools.client.infrastructure.Serializer
import org.openapitools.client.models.Error
import org.openapitools.client.models.ErrorCode
import org.openapitools.client.models.NewPlant

fun main() {
    ApiClient.accessToken = System.getenv("TOKEN")
    val plants = PlantsApi(System.getenv("URL"))

    val created = plants.createPlantWithHttpInfo(NewPlant(id = Long.MAX_VALUE, name = "Oak"))
    println("Plant-Id " + created.headers.entries.first { it.key.equals("Plant-Id", true) }.value[0])

    val refused = plants.createPlantWithHttpInfo(NewPlant(id = Long.MAX_VALUE, name = "Elm"))
    val body = (refused as ClientError<*>).body as String
    val error = Serializer.moshi.adapter(Error::class.java).fromJson(body)!!
    if (error.error == ErrorCode.ID_TAKEN.value) println("ID_TAKEN ${error.message}")
}
