use openapi::apis::configuration::Configuration;
use openapi::apis::plants_api::{create_plant, CreatePlantError};
use openapi::apis::Error::ResponseError;
use openapi::models::{ErrorCode, NewPlant};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let variable = |name| std::env::var(name).unwrap();
    let configuration = Configuration {
        base_path: variable("URL"),
        bearer_access_token: Some(variable("TOKEN")),
        ..Configuration::new()
    };

    let oak = NewPlant::new(i64::MAX, "Oak".into());
    create_plant(&configuration, oak).await.unwrap();

    let elm = NewPlant::new(i64::MAX, "Elm".into());
    let Err(ResponseError(refused)) = create_plant(&configuration, elm).await else {
        panic!("the conflict got no reply");
    };
    if let Some(CreatePlantError::Status400(error)) = refused.entity {
        if error.error == ErrorCode::ID_TAKEN as i32 {
            println!("ID_TAKEN {}", error.message);
        }
    }
}
