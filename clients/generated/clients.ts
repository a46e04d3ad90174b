/** A client that openapi-generator makes, and the small program here that uses it. */
export interface Client {
  /** `npm run clients -- NAME` runs this client only. Also the folder here that has the program. */
  readonly name: string;
  /** The program that compiles or runs the client. */
  readonly compiler: string;
  /** As docs/use/clients.md shows it. */
  readonly generate: string;
  readonly compile: string;
  readonly run: string;
}

/** Fetches the generator. */
export const setUp =
  'mvn -q dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.25.0 -DoutputDirectory=. -Dmdep.stripVersion';

const generator = 'java -jar openapi-generator-cli.jar generate -i openapi.json -o client -g';

export const clients: readonly Client[] = [
  {
    name: 'java',
    compiler: 'mvn',
    generate: `${generator} java --library native`,
    compile: 'mvn -q -f client compile dependency:copy-dependencies',
    run: "java -cp 'client/target/classes:client/target/dependency/*' CreatePlant.java",
  },
  {
    name: 'go',
    compiler: 'go',
    generate: `${generator} go --additional-properties=packageName=plants,withGoMod=false --model-name-mappings=Plant=StoredPlant`,
    compile: 'rm -rf client/test && go build -o create-plant .',
    run: './create-plant',
  },
  {
    name: 'python',
    compiler: 'python3',
    generate: `${generator} python`,
    compile: 'python3 -m venv .venv && pip install -q ./client',
    run: 'python create_plant.py',
  },
];
